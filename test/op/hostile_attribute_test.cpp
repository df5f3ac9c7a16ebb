// Every attribute of every operator with values that no caller should give: sizes that wrap, dims
// far out of range, other kinds, lists of other lengths. Each call is refused with one clear
// message or is legal; what is legal and small also runs in the reference and is lowered. Under the
// sanitizers (make asan) an overflow or a stray access ends the test.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ir/specialize.h"
#include "lower/decompose.h"
#include "lower/lower_graph.h"
#include "test/random_inputs.h"
#include "test/sample/sample_call.h"

namespace cleave::law {
namespace {

using test::core;

constexpr int64_t least = std::numeric_limits<int64_t>::min();
constexpr int64_t most = std::numeric_limits<int64_t>::max();
constexpr size_t samples_each = 4;
constexpr int64_t small = 1 << 14;        // elements that the reference may make
constexpr size_t longest_message = 4000;  // of text

const std::vector<int64_t>& hostile_integers() {
  static const std::vector<int64_t> all = {least,
                                           least + 1,
                                           -(int64_t{1} << 32),
                                           -7,
                                           -1,
                                           0,
                                           1,
                                           2,
                                           100,
                                           int64_t{1} << 31,
                                           int64_t{1} << 40,
                                           int64_t{1} << 62,
                                           most};
  return all;
}

std::vector<AttrValue> hostile_items(ArgKind kind) {
  std::vector<AttrValue> out = {AttrValue(), AttrValue("text"), AttrValue(AttrList{})};
  if (kind == ArgKind::integer || kind == ArgKind::number)
    for (int64_t v : hostile_integers()) out.emplace_back(v);
  if (kind == ArgKind::floating || kind == ArgKind::number)
    for (double v : {0.0, -1.0, 2.0, 1e308, -1e308, 5e-324, HUGE_VAL, -HUGE_VAL, std::nan("")})
      out.emplace_back(v);
  if (kind == ArgKind::boolean || kind == ArgKind::number)
    for (bool v : {false, true}) out.emplace_back(v);
  if (kind == ArgKind::dtype)
    for (int t = 0; t <= static_cast<int>(DType::c64); ++t) out.emplace_back(static_cast<DType>(t));
  return out;
}

// Lists of one hostile item, the given list with each item changed, and lists of other lengths.
std::vector<AttrValue> hostile_lists(ArgKind kind, const AttrValue& given) {
  std::vector<AttrValue> out;
  const AttrList base = given.get<AttrList>() ? *given.get<AttrList>() : AttrList{};
  for (const AttrValue& item : hostile_items(kind)) {
    out.emplace_back(AttrList{item});
    out.emplace_back(AttrList(base.size() + 1, item));
    out.emplace_back(AttrList(base.size(), item));
    for (size_t k = 0; k < base.size(); ++k) {
      AttrList list = base;
      list[k] = item;
      out.emplace_back(std::move(list));
    }
  }
  out.emplace_back(AttrList(1000, base.empty() ? AttrValue(1) : base[0]));
  return out;
}

bool is_small(const Graph& g, NodeId n) {
  for (const Type& t : g.output_types(n)) {
    if (t.is_none) continue;
    int64_t elements = 1;
    for (int64_t d : static_shape(t))
      if (__builtin_mul_overflow(elements, d, &elements) || elements > small) return false;
  }
  return true;
}

// Why the failure is none that a caller can be shown; empty when it is.
std::string unclear(const Failure& f) {
  if (f.kind == ErrorKind::bug) return "a bug's message: " + f.message;
  if (f.message.empty()) return "no message";
  if (f.message.size() > longest_message) return "a long message: " + f.message.substr(0, 200);
  return "";
}

std::string run_call(const OpRegistry& ops, Graph& g, NodeId n, const Arrays& inputs) {
  const Node& node = g.node(n);
  for (uint32_t r = 0; r < node.output_count; ++r)
    if (!g.type(node.out(r)).is_none) g.add_return({node.out(r), ReturnKind::result, {}});
  std::vector<const Array*> in;
  for (const Array& a : inputs) in.push_back(&a);
  if (node.op->reference.present())
    if (auto results = interpret(g, in); !results.ok())
      if (std::string why = unclear(results.failure()); !why.empty()) return "reference: " + why;
  if (Status s = decompose_for_lowering(g, ops); !s.ok()) return unclear(s.failure());
  if (auto program = lower_graph(g); !program.ok())
    if (std::string why = unclear(program.failure()); !why.empty()) return "lowering: " + why;
  return "";
}

// What is wrong about the call; empty when it is refused clearly or legal.
std::string check_call(const OpRegistry& ops, const OpDef& op, const Sample& sample, size_t index) {
  Graph g;
  Arrays inputs;
  auto call = add_sample(g, op, sample, index, Floats::own, "s", inputs);
  if (!call.ok()) return unclear(call.failure());
  if (!is_static(g) || !is_small(g, call->node)) return "";
  return run_call(ops, g, call->node, inputs);
}

Sample with_attr(Sample s, const std::string& name, const AttrValue& value) {
  std::erase_if(s.attrs, [&](const auto& a) { return a.first == name; });
  s.attrs.emplace_back(name, value);
  return s;
}

AttrValue given_in(const Sample& s, const ArgDef& def) {
  for (const auto& [name, value] : s.attrs)
    if (name == def.name) return value;
  return def.has_default ? def.default_value : AttrValue();
}

std::vector<std::string> names() {
  std::vector<std::string> out;
  for (const auto& op : core().all())
    if (!op->schema.attrs.empty()) out.push_back(op->name);
  return out;
}

class HostileAttribute : public testing::TestWithParam<std::string> {};

TEST_P(HostileAttribute, is_refused_or_legal) {
  const OpDef& op = *core().find(GetParam());
  const Samples samples = op.samples();
  for (size_t k = 0; k < std::min(samples_each, samples.size()); ++k)
    for (uint16_t arg : op.schema.attrs) {
      const ArgDef& def = op.schema.args[arg];
      const AttrValue given = given_in(samples[k], def);
      for (const AttrValue& value :
           def.list ? hostile_lists(def.kind, given) : hostile_items(def.kind)) {
        const std::string text = value.text();
        EXPECT_EQ(check_call(core(), op, with_attr(samples[k], def.name, value), k), "")
            << op.name << ", sample " << k << ", " << def.name << "=" << text.substr(0, 200);
      }
    }
}

INSTANTIATE_TEST_SUITE_P(, HostileAttribute, testing::ValuesIn(names()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace cleave::law
