// Which calls of a graph form a region.
#include "partial/grouping.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "compilers/traced_graph.h"
#include "ir/subgraph.h"
#include "test/sample/random_graph.h"
#include "test/trace/traced.h"

namespace cleave {
namespace {

using test::core;

Graph parsed(const std::string& text) { return TracedGraph::parse(text).state().graph; }

// "a b | c! | d": steps, those outside with a mark.
std::string text_of(const Graph& g, const Groups& groups) {
  std::string out;
  for (const Groups::Step& step : groups.steps) {
    if (!out.empty()) out += "| ";
    for (const NodeId n : step.calls)
      out += g.name(g.node(n).out(0)) + (step.is_region ? " " : "! ");
  }
  if (!out.empty()) out.pop_back();
  return out;
}

std::string grouped(const Graph& g, const std::string& refused, Grouping grouping) {
  std::vector<bool> goes_in(g.node_capacity());
  for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n))
    goes_in[n.v] = refused.find(g.name(g.node(n).out(0))) == std::string::npos;
  return text_of(g, group_calls(g, goes_in, grouping));
}

TEST(Grouping, runs_are_calls_in_a_row) {
  const Graph g = parsed(R"(
graph @main(%x: input f32[3]) {
  %a = relu(%x)
  %b = exp(%a)
  %c = tanh(%b)
  %d = sin(%x)
  %e = cos(%d)
  return %c, %e
})");
  EXPECT_EQ(grouped(g, "c", Grouping::runs), "a b | c! | d e");
  EXPECT_EQ(grouped(g, "", Grouping::runs), "a b c d e");
  EXPECT_EQ(grouped(g, "abcde", Grouping::runs), "a! | b! | c! | d! | e!");
}

TEST(Grouping, convex_takes_what_does_not_depend_on_what_is_outside) {
  const Graph g = parsed(R"(
graph @main(%x: input f32[3]) {
  %a = relu(%x)
  %b = exp(%a)
  %c = tanh(%b)
  %d = sin(%x)
  %e = add(%c, %d)
  %f = cos(%c)
  return %e, %f
})");
  EXPECT_EQ(grouped(g, "c", Grouping::convex), "a b | c! | d e f");
  EXPECT_EQ(grouped(g, "ce", Grouping::convex), "a b d | c! | e! | f");
  EXPECT_EQ(grouped(g, "", Grouping::convex), "a b c d e f");
  EXPECT_EQ(grouped(g, "a", Grouping::convex), "a! | b c d e f");
}

TEST(Grouping, what_can_wait_goes_to_its_first_reader) {
  const Graph g = parsed(R"(
graph @main(%x: input f32[3,3], %w: param f32[3,3]) {
  %t = permute(%w; dims=[1,0])
  %n = full(; size=[3], fill_value=2.0)
  %a = relu(%x)
  %o = sin(%a)
  %b = mm(%o, %t)
  %c = mul(%b, %n)
  %r = permute(%a; dims=[1,0])
  return %c, %r
})");
  EXPECT_EQ(grouped(g, "o", Grouping::convex), "a r | o! | t n b c");
}

TEST(Grouping, effects_keep_their_order) {
  const Graph g = parsed(R"(
graph @main(%x: input f32[3], %z: input f32[3]) {
  %a = opaque(%x)
  %b = relu(%x)
  %c = opaque(%z)
  return %a, %b, %c
})");
  EXPECT_EQ(grouped(g, "a", Grouping::convex), "a! | b c");
  EXPECT_EQ(grouped(g, "c", Grouping::convex), "a b | c!");
}

// No path leaves a region and comes back, every definition stands before its use, and each call
// stands once: for random graphs and choices.
TEST(Grouping, is_convex_and_in_order_for_random_graphs) {
  std::mt19937_64 rng(3);
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const Graph g = value_or_throw(random::random_graph(core(), seed, {})).g;
    for (const Grouping grouping : {Grouping::runs, Grouping::convex}) {
      std::vector<bool> goes_in(g.node_capacity());
      for (size_t k = 0; k < goes_in.size(); ++k) goes_in[k] = rng() % 4 != 0;
      const Groups groups = group_calls(g, goes_in, grouping);
      std::vector<int> step_of(g.node_capacity(), -1);
      size_t count = 0;
      std::vector<NodeId> effects;
      for (size_t k = 0; k < groups.steps.size(); ++k)
        for (const NodeId n : groups.steps[k].calls) {
          EXPECT_EQ(step_of[n.v], -1);
          EXPECT_EQ(groups.steps[k].is_region, goes_in[n.v]);
          step_of[n.v] = static_cast<int>(k);
          ++count;
          if (runs_once(traits_of(g.node(n)))) effects.push_back(n);
        }
      EXPECT_EQ(count, g.node_count());
      // Steps in order: a step whose operands all come from steps before it can't be left and
      // entered again.
      for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n))
        for (const ValueId v : g.node(n).inputs) {
          if (!v.valid() || !g.value(v).def.valid()) continue;
          EXPECT_LE(step_of[g.value(v).def.v], step_of[n.v]) << "seed " << seed;
        }
      EXPECT_TRUE(std::ranges::is_sorted(effects, {}, &NodeId::v)) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace cleave
