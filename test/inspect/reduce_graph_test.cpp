// What is left of a graph that fails: by brute force, no single thing more could go.
//
// tests: reduce_steps.cpp interp/given_graph.cpp
#include "inspect/reduce_graph.h"

#include <gtest/gtest.h>

#include "inspect/reduce_steps.h"
#include "ir/subgraph.h"
#include "test/random_inputs.h"
#include "test/sample/random_graph.h"
#include "test/sample/single_steps.h"
#include "test/sample/symbolic_graph.h"

namespace cleave {
namespace {

using random::RandomGraph, random::single_steps;
using test::core, test::parsed;

size_t count(const Graph& g, const std::string& op) {
  size_t out = 0;
  for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n)) out += g.node(n).op->name == op;
  return out;
}

GivenGraph given(const std::string& text) {
  GivenGraph out{parsed(text), {}, {}};
  const auto named = test::random_inputs(out.g);
  for (const Placeholder& p : out.g.placeholders())
    out.inputs.push_back(named.at(out.g.name(p.value)));
  return out;
}

std::string reduced_text(const std::string& text, const Fails& fails) {
  return print(reduced(given(text), fails).g);
}

Fails has(const std::string& op) {
  return [op](const GivenGraph& r) { return count(r.g, op) > 0; };
}

void expect_minimal(const GivenGraph& small, const Fails& fails) {
  EXPECT_TRUE(fails(small)) << print(small.g);
  for (const random::SingleStep& step : single_steps(small))
    EXPECT_FALSE(fails(step.graph)) << step.what << "\n" << print(small.g);
}

constexpr const char* block =
    "graph @main(%x: input f32[64,32], %w: param f32[32,32] grad, %b: buffer f32[32]) {\n"
    "  %q = mm(%x, %w)\n  %r = relu(%q)\n  %h = tanh(%r)\n  %v = view(%h; size=[2,32,32])\n"
    "  %s = add(%v, %b)\n  %z = exp(%s)\n  %m = mean(%z; dim=[0,1])\n  return %z, %m -> %b\n}\n";

TEST(ReduceGraph, to_the_call_that_fails) {
  EXPECT_EQ(reduced_text(block, has("tanh")),
            "graph @main(%r: input f32[1,1]) {\n  %h = tanh(%r) : f32[1,1]\n  return %h\n}\n");
  EXPECT_EQ(reduced_text(block, has("mm")),
            "graph @main(%x: input f32[1,1], %w: input f32[1,1]) {\n"
            "  %q = mm(%x, %w) : f32[1,1]\n  return %q\n}\n");
}

TEST(ReduceGraph, to_calls_that_fail_together) {
  EXPECT_EQ(reduced_text(block,
                         [](const GivenGraph& r) { return count(r.g, "mm") && count(r.g, "exp"); }),
            "graph @main(%x: input f32[1,1], %w: input f32[1,1], %s: input f32[1,1,1]) {\n"
            "  %q = mm(%x, %w) : f32[1,1]\n  %z = exp(%s) : f32[1,1,1]\n  return %z, %q\n}\n");
}

// exp of what came from tanh, through calls that keep the type or not.
bool exp_reads_tanh(const GivenGraph& r) {
  std::vector<bool> from_tanh(r.g.value_capacity());
  for (NodeId n = r.g.first_node(); n.valid(); n = r.g.next_node(n)) {
    const Node& node = r.g.node(n);
    bool reads = false;
    for (const ValueId v : node.inputs) reads |= v.valid() && from_tanh[v.v];
    if (reads && node.op->name == "exp") return true;
    for (uint32_t k = 0; k < node.output_count; ++k)
      from_tanh[node.out(k).v] = reads || node.op->name == "tanh";
  }
  return false;
}

TEST(ReduceGraph, calls_between_are_bypassed) {
  const GivenGraph small = reduced(given(block), exp_reads_tanh);
  EXPECT_EQ(small.g.node_count(), 3U) << print(small.g);  // a view changes the type
  expect_minimal(small, exp_reads_tanh);
  EXPECT_EQ(reduced_text("graph @main(%x: input f32[8]) {\n  %a = tanh(%x)\n  %b = sin(%a)\n"
                         "  %c = add(%b, %x)\n  %d = exp(%c)\n  return %d\n}\n",
                         exp_reads_tanh),
            "graph @main(%x: input f32[1]) {\n  %a = tanh(%x) : f32[1]\n  %d = exp(%a) : f32[1]\n"
            "  return %d\n}\n");
}

TEST(ReduceGraph, what_matters_stays) {
  const auto text = [](const std::string& text, const std::string& part) {
    return reduced_text(
        text, [&](const GivenGraph& r) { return print(r.g).find(part) != std::string::npos; });
  };
  EXPECT_EQ(text(block, "-> %b"),
            "graph @main(%b: input f32[1], %m: input f32[1]) {\n  return %m -> %b\n}\n");
  EXPECT_EQ(text(block, "param f32[32,32] grad"),
            "graph @main(%x: input f32[1,32], %w: param f32[32,32] grad) {\n"
            "  %q = mm(%x, %w) : f32[1,32]\n  return %q\n}\n");
  EXPECT_EQ(text("graph @main(%x: input f32[2], %unread: input f32[3]) {\n  %dead = sin(%x)\n"
                 "  %y = cos(%x)\n  return %y\n}\n",
                 "unread"),
            "graph @main(%unread: input f32[1], %y: input f32[1]) {\n  return %y\n}\n");
  EXPECT_EQ(text("graph @main(%x: input f32[2]) {\n  %dead = sin(%x)\n  %y = cos(%x)\n"
                 "  return %y\n}\n",
                 "sin"),
            "graph @main(%x: input f32[1], %y: input f32[1]) {\n  %dead = sin(%x) : f32[1]\n"
            "  return %y\n}\n");
}

TEST(ReduceGraph, sizes_shrink_as_far_as_it_fails) {
  const Fails fails = [](const GivenGraph& r) {
    for (NodeId n = r.g.first_node(); n.valid(); n = r.g.next_node(n))
      if (r.g.node(n).op->name == "exp" && r.g.type(r.g.node(n).out(0)).numel().value() >= 100)
        return true;
    return false;
  };
  const GivenGraph small = reduced(given(block), fails);
  EXPECT_EQ(small.g.node_count(), 1U);
  const int64_t elements = small.g.type(small.g.returns()[0].value).numel().value();
  EXPECT_GE(elements, 100);
  EXPECT_LT(elements, 200) << print(small.g);
  expect_minimal(small, fails);
}

TEST(ReduceGraph, calls_go_with_their_subgraphs) {
  const char* text =
      "graph @then(%a: input f32[4]) {\n  %s = sin(%a)\n  return %s\n}\n"
      "graph @otherwise(%a: input f32[4]) {\n  %c = cos(%a)\n  return %c\n}\n"
      "graph @main(%p: input bool[], %x: input f32[4]) {\n  %e = exp(%x)\n"
      "  %y = cond(%p, [%e]; then=@then, otherwise=@otherwise)\n  %t = tanh(%y)\n"
      "  return %t\n}\n";
  const auto g = parse(text, "test", core());
  if (!g.ok()) GTEST_FAIL() << g.failure().message;
  EXPECT_EQ(reduced_text(text, has("tanh")),
            "graph @main(%y: input f32[1]) {\n  %t = tanh(%y) : f32[1]\n  return %t\n}\n");
  const GivenGraph small = reduced(given(text), has("cond"));
  EXPECT_EQ(small.g.node_count(), 1U);
  EXPECT_NE(print(small.g).find("%s = sin(%a) : f32[1]"), std::string::npos) << print(small.g);
}

TEST(ReduceGraph, cut_inputs_hold_what_the_oracle_computes) {
  const GivenGraph whole = given(block);
  const GivenGraph small = reduced(whole, [](const GivenGraph& r) {
    return count(r.g, "exp") > 0 && r.g.type(r.g.find("z")).shape == Shape{2, 32, 32};
  });
  ASSERT_EQ(small.g.placeholders().size(), 1U) << print(small.g);
  Array want = values_of(whole).at("s");
  EXPECT_EQ(small.inputs[0].f, want.f);
}

TEST(ReduceGraph, without_inputs_graphs_alone) {
  GivenGraph g = given(block);
  g.inputs.clear();
  const GivenGraph small = reduced(g, has("tanh"));
  EXPECT_EQ(small.g.node_count(), 1U);
  EXPECT_TRUE(small.inputs.empty());
}

TEST(ReduceGraph, nothing_is_asked_twice_and_each_smaller_one_is_told) {
  std::set<std::string> asked;
  std::vector<std::string> told;
  std::string last;
  const auto fails = [&](const GivenGraph& r) {
    EXPECT_TRUE(verify(r.g).ok());
    EXPECT_TRUE(asked.insert(print(r.g)).second) << print(r.g);
    if (count(r.g, "add") == 0) return false;
    last = print(r.g);
    return true;
  };
  const GivenGraph small =
      reduced(given(block), fails, [&](const GivenGraph& r) { told.push_back(print(r.g)); });
  EXPECT_EQ(told.back(), print(small.g));
  EXPECT_EQ(last, print(small.g));
  struct Enough {};
  EXPECT_THROW(reduced(given(block), [](const GivenGraph&) -> bool { throw Enough(); }), Enough);
}

// Random graphs, forward and backward, some with symbols: a failure of two operators that the graph
// has, in a chain or not.
TEST(ReduceGraph, random_graphs_are_one_minimal) {
  size_t calls = 0, left = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    RandomGraph r = value_or_throw(random::random_graph(core(), seed, {}));
    if (seed % 3 == 0)
      if (const auto symbolic = random::with_symbol(r, seed)) r = *symbolic;
    if (seed % 4 == 1) r = value_or_throw(random::with_gradients(r, core(), seed));
    const std::vector<NodeId> order = r.g.order();
    const std::string first = r.g.node(order[seed % order.size()]).op->name,
                      second = r.g.node(order[(7 * seed + 3) % order.size()]).op->name;
    const Fails fails = [&](const GivenGraph& g) {
      return count(g.g, first) > 0 && count(g.g, second) > 0 && g.g.node_count() >= 1;
    };
    const GivenGraph small = reduced(r, fails);
    expect_minimal(small, fails);
    EXPECT_LE(small.g.node_count(), first == second ? 1U : 2U) << print(small.g);
    EXPECT_TRUE(has_inputs(small));
    calls += order.size();
    left += small.g.node_count();
  }
  EXPECT_GT(calls, 10 * left);
}

}  // namespace
}  // namespace cleave
