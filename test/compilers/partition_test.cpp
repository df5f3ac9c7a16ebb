#include "cleave/partition.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "test/trace/traced.h"

namespace cleave {
namespace {

using test::message;

// tanh's gradient reads y, exp's its result.
TracedGraph joint() {
  return TracedGraph::parse(
      R"(graph @joint(%x: input f32[64], %w: param f32[64] grad, %t: tangent f32[64]) {
  %h = mul(%x, %w)
  %y = tanh(%h)
  %g = tanh_backward(%t, %y)
  %dw = mul(%g, %x)
  return %y, %dw -> grad %w
})");
}

TracedGraph relu() {
  return TracedGraph::parse("graph @f(%x: input f32[4]) {\n  %y = relu(%x)\n  return %y\n}");
}

std::vector<std::string> names(const std::vector<KeptValue>& saved) {
  std::vector<std::string> out;
  for (const KeptValue& v : saved) out.push_back(v.name);
  std::ranges::sort(out);
  return out;
}

TEST(JointGraph, has_the_gradients_that_are_wanted) {
  const TracedGraph forward = TracedGraph::parse(
      R"(graph @f(%x: input f32[4], %w: param f32[4] grad, %i: input i64[4]) {
  %h = mul(%x, %w)
  %y = tanh(%h)
  return %y
})");
  const auto targets = [](const TracedGraph& g) {
    std::vector<std::string> out;
    for (const GraphValue& v : g.results())
      if (v.role == "grad") out.push_back(v.target);
    return out;
  };
  EXPECT_EQ(targets(joint_graph(forward)), (std::vector<std::string>{"w"}));
  EXPECT_EQ(targets(joint_graph(forward, {"x"})), (std::vector<std::string>{"x"}));
  EXPECT_EQ(joint_graph(forward).inputs().back().role, "tangent");
  const auto refused = [&](const TracedGraph& g, const std::vector<std::string>& names) {
    return message([&] { joint_graph(g, names); });
  };
  EXPECT_NE(refused(forward, {"i"}).find("i64[4], which has no gradient"), std::string::npos);
  EXPECT_NE(refused(forward, {"y"}).find("no input y"), std::string::npos);
  EXPECT_NE(refused(joint(), {}).find("is a joint graph already"), std::string::npos);
  EXPECT_NE(refused(relu(), {}).find("name the inputs"), std::string::npos);
}

TEST(Partition, names_what_the_forward_keeps) {
  const PartitionedGraph p = partition(joint(), Partitioner::standard());
  EXPECT_EQ(names(p.saved), (std::vector<std::string>{"x", "y"}));
  EXPECT_TRUE(p.recomputed.empty());
  EXPECT_EQ(p.forward.results().size(), 3u);  // y, and what is kept
  EXPECT_EQ(p.backward.inputs().back().role, "tangent");
  for (const KeptValue& v : p.saved) {
    EXPECT_EQ(v.bytes, 256);
    EXPECT_EQ(v.is_input, v.name == "x");
    EXPECT_FALSE(v.why.empty());
  }
}

TEST(Partition, runs_again_what_an_own_function_doesnt_keep) {
  const PartitionedGraph p = partition(
      joint(), Partitioner::own([](const TracedGraph&) { return std::vector<std::string>{"h"}; }));
  EXPECT_EQ(names(p.saved), (std::vector<std::string>{"h", "x"}));
  EXPECT_EQ(p.recomputed, std::vector<std::string>{"y"});
}

TEST(Partition, refuses_a_forward_graph) {
  const TracedGraph forward =
      TracedGraph::parse("graph @f(%x: input f32[2]) {\n  %y = exp(%x)\n  return %y\n}");
  EXPECT_EQ(message([&] { partition(forward, Partitioner::standard()); }),
            "partition: @f is no joint graph: it has no tangent and no gradient");
}

}  // namespace
}  // namespace cleave
