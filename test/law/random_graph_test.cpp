// Random graphs: reproducible, equal to the oracle when compiled, and reduced if an operator is
// wrong.
#include <gtest/gtest.h>

#include "inspect/reduce_graph.h"
#include "op/entry.h"
#include "test/random_inputs.h"
#include "test/sample/check_graph.h"
#include "test/sample/symbolic_graph.h"

namespace cleave::random {
namespace {

using test::core;
using test::parsed;

RandomGraph joint_of(const OpRegistry& ops, uint64_t seed, const GraphOptions& options = {}) {
  return value_or_throw(
      with_gradients(value_or_throw(random_graph(ops, seed, options)), ops, seed));
}

TEST(RandomGraphs, same_seed_same_graph) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const RandomGraph a = value_or_throw(random_graph(core(), seed, {}));
    const RandomGraph b = value_or_throw(random_graph(core(), seed, {}));
    EXPECT_EQ(print(a.g), print(b.g));
    EXPECT_GE(a.g.node_count(), 10u);
    EXPECT_TRUE(verify(a.g).ok());
    ASSERT_EQ(a.inputs.size(), a.g.placeholders().size());
  }
}

TEST(RandomGraphs, most_entries_are_drawn) {
  std::set<std::string> drawn;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const RandomGraph r = value_or_throw(random_graph(core(), seed, {}));
    for (NodeId n : r.g.order()) drawn.insert(r.g.node(n).op->name);
  }
  EXPECT_GT(drawn.size(), core().all().size() * 9 / 10);
}

TEST(RandomGraphs, compiled_as_the_oracle) {
  int64_t elements = 0;
  for (uint64_t seed = 0; seed < 12; ++seed) {
    const Result<Verdict> v = check_graph(joint_of(core(), seed), core());
    if (!v.ok() && v.failure().kind == ErrorKind::unsupported) continue;
    ASSERT_TRUE(v.ok()) << "seed " << seed << ": " << v.failure().message;
    EXPECT_EQ(v->difference, "") << "seed " << seed;
    elements += v->elements;
  }
  EXPECT_GT(elements, 1000);
}

// Interpreted, since there are many of them: with updates of buffers and symbolic sizes.
TEST(RandomGraphs, interpreted_as_the_oracle) {
  int64_t updates = 0;
  for (uint64_t seed = 100; seed < 160; ++seed) {
    const RandomGraph r = joint_of(core(), seed);
    for (const Return& x : r.g.returns()) updates += x.kind == ReturnKind::update;
    const Result<Verdict> v = check_graph(r, core(), CompilerChoice::none);
    ASSERT_TRUE(v.ok()) << "seed " << seed << ": " << v.failure().message;
    EXPECT_EQ(v->difference, "") << "seed " << seed;
  }
  EXPECT_GT(updates, 20);
}

TEST(RandomGraphs, a_symbol_changes_nothing) {
  int symbolic = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const RandomGraph forward = value_or_throw(random_graph(core(), seed, {}));
    const std::optional<RandomGraph> with = with_symbol(forward, seed);
    if (!with) continue;
    ++symbolic;
    EXPECT_FALSE(is_static(with->g));
    const Result<RandomGraph> joint = with_gradients(*with, core(), seed);
    ASSERT_TRUE(joint.ok()) << "seed " << seed << ": " << joint.failure().message;
    EXPECT_TRUE(is_static(joint->g));
    const RandomGraph r = value_or_throw(with_gradients(forward, core(), seed));
    EXPECT_EQ(value_or_throw(symbolic_difference(*joint, r)), "") << "seed " << seed;
  }
  EXPECT_GT(symbolic, 5);
}

// Calls with subgraphs on each other's results.
TEST(RandomGraphs, of_branches_and_loops) {
  const std::set<std::string> wanted = {"cond", "while_loop", "mul",   "sin",
                                        "sum",  "permute",    "where", "gt"};
  GraphOptions options;
  for (const auto& op : core().all())
    if (!wanted.contains(op->name)) options.without.push_back(op->name);
  int64_t elements = 0;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    const Result<Verdict> v = check_graph(joint_of(core(), seed, options), core());
    ASSERT_TRUE(v.ok()) << "seed " << seed << ": " << v.failure().message;
    EXPECT_EQ(v->difference, "") << "seed " << seed;
    elements += v->elements;
  }
  EXPECT_GT(elements, 1000);
}

// The oracle holds f32 values in f64, where this one isn't 0.
TEST(RandomGraphs, what_underflows_is_left_open) {
  const std::string text =
      "graph @main(%x: input f64[2]) {\n  %a = _to_copy(%x; dtype=f32)\n"
      "  %b = logical_not(%a)\n  return %b\n}\n";
  RandomGraph r{parsed(text), {Array(DType::f64, {2})}};
  r.inputs[0].f = {1e-300, 1};
  const Verdict v = value_or_throw(check_graph(r, core(), CompilerChoice::none));
  EXPECT_EQ(v.difference, "");
  EXPECT_EQ(v.left_open, 1);
  EXPECT_EQ(v.elements, 1);
}

// cos lowered to 1.001 cos.
OpRegistry with_wrong_cos() {
  OpRegistry out;
  for (const auto& op : core().all()) {
    OpDef def = *op;
    if (def.name == "cos")
      def.lower = loop::pointwise([](const OpView& view, const loop::Exprs& x) {
        const loop::Expr y = loop::cast(x[0], loop::compute_type(view.out_type(0).dtype));
        return loop::unary(loop::Op::cos, y) * loop::constant(y.type(), 1.001);
      });
    value_or_throw(out.add(std::move(def)));
  }
  return out;
}

TEST(RandomGraphs, wrong_operator_is_found_and_made_small) {
  const OpRegistry wrong = with_wrong_cos();
  const auto fails = [&](const RandomGraph& r) {
    const Result<Verdict> v = check_graph(r, wrong);
    return v.ok() && !v->difference.empty();
  };
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const RandomGraph r = joint_of(wrong, seed, {.min_nodes = 10, .max_nodes = 12});
    bool has_cos = false;
    for (NodeId n : r.g.order()) has_cos |= r.g.node(n).op->name == "cos";
    if (!has_cos || !fails(r)) continue;
    const RandomGraph small = reduced(r, fails);
    EXPECT_EQ(small.g.node_count(), 1u) << print(small.g);
    EXPECT_EQ(small.g.node(small.g.first_node()).op->name, "cos");
    return;
  }
  FAIL() << "no graph shows it";
}

}  // namespace
}  // namespace cleave::random
