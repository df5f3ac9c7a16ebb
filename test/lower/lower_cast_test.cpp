// Products whose operands are casts, each in turn: some casts are done by the product while it
// packs the operand; the others must stay.
#include <gtest/gtest.h>

#include "ir/builder.h"
#include "loop/lower_rule.h"
#include "test/lower/lowered.h"
#include "test/random_inputs.h"
#include "test/sample/check_graph.h"
#include "test/sample/sample_call.h"

namespace cleave::random {
namespace {

using test::core;

const loop::LibraryRule* library_rule(const OpDef& op) {
  return op.lower.present() ? std::get_if<loop::LibraryRule>(&(*op.lower)->form) : nullptr;
}

bool converts_operands(const loop::LibraryRule& rule, const OpView& op) {
  const std::optional<loop::LibraryForm> form = rule.form(op);
  return form &&
         std::ranges::any_of(form->operands, [](const auto& o) { return o.converts != nullptr; });
}

// The sample's call, whose `operand` is a placeholder of `from` that is cast; none where it is of
// that dtype.
std::optional<RandomGraph> with_cast(const OpDef& op, const Sample& sample, size_t index,
                                     size_t operand, DType from) {
  RandomGraph r;
  const law::SampleCall call =
      value_or_throw(law::add_sample(r.g, op, sample, index, law::Floats::own, "a", r.inputs));
  if (operand >= call.operands.size()) return {};
  if (!converts_operands(*library_rule(op), r.g.view(call.node))) return {};
  const ValueId v = call.operands[operand];
  Type type = r.g.type(v);
  const DType to = std::exchange(type.dtype, from);
  if (to == from) return {};
  const ValueId given = value_or_throw(r.g.add_placeholder(Role::input, "given", type));
  const SampleTensor contents = SampleTensor(type).range(from == DType::u8 ? 0 : -4, 5);
  r.inputs.push_back(law::sample_array(contents, law::seed_of(op.name) + index));
  Builder b(r.g, core());
  b.insert_before(call.node);
  const ValueId cast = b.convert(given, to);
  if (!b.status().ok()) throw_failure(b.status().failure());
  for (const Use& use : r.g.uses(v)) r.g.set_input(use.node, use.operand, cast);
  r.g.add_return({r.g.node(call.node).out(0)});
  return r;
}

TEST(Cast, operands_of_products_are_what_they_were) {
  int graphs = 0;
  for (const auto& entry : core().all()) {
    const OpDef& op = *entry;
    if (!library_rule(op)) continue;
    const Samples samples = op.samples();
    for (size_t index = 0; index < samples.size(); ++index) {
      if (!law::is_static(samples[index])) continue;
      for (size_t operand = 0; operand < 4; ++operand)
        for (const DType from : {DType::i8, DType::u8, DType::bf16, DType::f16, DType::f32}) {
          const auto r = with_cast(op, samples[index], index, operand, from);
          if (!r) continue;
          ++graphs;
          const Verdict v = value_or_throw(check_graph(*r, core(), CompilerChoice::none));
          EXPECT_EQ(v.difference, "") << print(r->g);
        }
    }
  }
  EXPECT_GE(graphs, 300);
}

// What a product makes, too: of f32 it is read as bf16 where it lies, also transposed.
TEST(Cast, of_what_another_product_makes_is_no_thunk) {
  for (const bool is_transposed : {false, true}) {
    const std::string text =
        "graph @g(%x: input f32[40,24], %w: input f32[24,32], %v: input bf16[40,16]) {\n"
        "  %h = mm(%x, %w) : f32[40,32]\n  %c = _to_copy(%h; dtype=bf16) : bf16[40,32]\n" +
        std::string(is_transposed ? "  %t = permute(%c; dims=[1,0])\n  %y = mm(%t, %v)\n"
                                  : "  %u = permute(%v; dims=[1,0])\n  %y = mm(%u, %c)\n") +
        "  return %y, %h\n}\n";
    EXPECT_EQ(cleave::test::lowered(text).thunks.size(), 2u);
    RandomGraph r;
    r.g = cleave::test::parsed(text);
    const std::map<std::string, Array> named = cleave::test::random_inputs(r.g);
    for (const Placeholder& p : r.g.placeholders()) r.inputs.push_back(named.at(r.g.name(p.value)));
    EXPECT_EQ(value_or_throw(check_graph(r, core(), CompilerChoice::none)).difference, "");
  }
}

// A GPU's products copy what isn't in their dtype.
TEST(Cast, a_target_may_have_casts_made_once_for_all_readers) {
  const Graph g = test::decomposed(
      "graph @g(%x: input bf16[3,4], %u: input bf16[2,4], %w: param f32[4,5], %q: param i8[4,5]) "
      "{\n  %c = _to_copy(%w; dtype=bf16)\n  %y = mm(%x, %c)\n  %z = mm(%u, %c)\n"
      "  %d = _to_copy(%q; dtype=bf16)\n  %v = mm(%x, %d)\n  return %y, %z, %v\n}\n");
  LowerChoices apart;
  apart.folds_casts = false;
  EXPECT_EQ(value_or_throw(lower_graph(g)).thunks.size(), 3u);
  EXPECT_EQ(value_or_throw(lower_graph(g, apart)).thunks.size(), 4u);  // %c, not %d
}

}  // namespace
}  // namespace cleave::random
