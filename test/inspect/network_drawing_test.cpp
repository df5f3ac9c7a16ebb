// The network of a failed cut as a picture and as text: its conflict is marked.
// tests: layered_boxes.cpp dot_text.cpp
#include "inspect/network_drawing.h"

#include "cut/pytorch_partition.h"
#include "remat/cut_graph.h"
#include "test/cut/halves.h"
#include "test/inspect/times_in.h"

namespace cleave {
namespace {

using test::times_in;

// %m must run again, but saving the view %v means saving %m.
std::string contradiction(int more) {
  std::string out =
      "graph @main(%x: input f32[4,4] grad, %w: param f32[4,4] grad) {\n"
      "  %m = mm(%x, %w) !recompute(must_recompute, ac=1)\n"
      "  %v = view(%m; size=[4,4]) !recompute(must_save)\n  %s0 = mm(%v, %w)\n";
  for (int k = 1; k <= more; ++k) out += fmt::format("  %s{} = mm(%s{}, %w)\n", k, k - 1);
  return out + fmt::format("  return %s{}\n}}\n", more);
}

flow::FailedNetwork failed_network(const std::string& text) {
  const Graph joint = test::joint_of(text);
  const JointView view = value_or_throw(JointView::make(joint));
  auto failed = CutGraph::failed_network(view, {});
  EXPECT_TRUE(failed.has_value());
  return std::move(failed).value();  // throws where there is none
}

TEST(NetworkDrawing, the_path_goes_through_infinite_capacities) {
  const flow::FailedNetwork failed = failed_network(contradiction(0));
  const Graph joint = test::joint_of(contradiction(0));
  const std::vector<ConstrainedValue> conflict =
      CutGraph::conflict(value_or_throw(JointView::make(joint)));
  EXPECT_EQ(failed.network.source[static_cast<size_t>(failed.path.first)], flow::infinite);
  EXPECT_EQ(failed.network.sink[static_cast<size_t>(failed.path.last)], flow::infinite);
  EXPECT_EQ(failed.names[static_cast<size_t>(failed.path.first)], "mm");
  EXPECT_EQ(failed.names[static_cast<size_t>(failed.path.last)], "%" + conflict.back().name);
  int32_t at = failed.path.first;
  for (const int32_t a : failed.path.arcs) {
    const flow::Arc& arc = failed.network.arcs[static_cast<size_t>(a)];
    EXPECT_EQ(arc.tail, at);
    EXPECT_EQ(arc.capacity, flow::infinite);
    at = arc.head;
  }
  EXPECT_EQ(at, failed.path.last);
  // A call and its value for each value of the conflict.
  EXPECT_EQ(failed.path.arcs.size() + 1, 2 * conflict.size());
  EXPECT_EQ(failed.names.size(), static_cast<size_t>(failed.network.nodes()));
}

TEST(NetworkDrawing, marks_the_conflict) {
  const flow::FailedNetwork failed = failed_network(contradiction(1));
  const size_t on_path = failed.path.arcs.size() + 1;
  const std::string svg = network_svg("why", failed);
  EXPECT_EQ(times_in(svg, "stroke-width=\"3\""), on_path + 1);  // from the source, to the sink
  EXPECT_EQ(times_in(svg, "fill=\"#ffd6d6\""), on_path);
  EXPECT_NE(svg.find(">tagged must_recompute<"), std::string::npos);
  const std::string dot = network_dot("main", failed);
  EXPECT_EQ(times_in(dot, "penwidth=3"), on_path + 1);
  EXPECT_EQ(times_in(dot, " -> "), [&] {
    size_t arcs = failed.network.arcs.size();
    for (int32_t n = 0; n < failed.network.nodes(); ++n)
      arcs += (failed.network.source[static_cast<size_t>(n)] != 0) +
              (failed.network.sink[static_cast<size_t>(n)] != 0);
    return arcs;
  }());
  EXPECT_NE(dot.find("[label=\"64\"]"), std::string::npos);  // the bytes of a value of f32[4,4]
}

TEST(NetworkDrawing, of_a_large_network_the_nodes_near_the_conflict_are_drawn) {
  const flow::FailedNetwork failed = failed_network(contradiction(300));
  EXPECT_GT(failed.network.nodes(), 600);
  const std::string svg = network_svg("why", failed);
  // The paper, the source and the sink beside them.
  EXPECT_EQ(times_in(svg, "<rect "), largest_network_drawing + 3);
  EXPECT_NE(svg.find(fmt::format("200 of {} nodes", failed.network.nodes())), std::string::npos);
  EXPECT_EQ(times_in(svg, "stroke-width=\"3\""), failed.path.arcs.size() + 2);
}

TEST(NetworkDrawing, of_mode_pytorch) {
  Graph joint = test::joint_of(
      "graph @main(%x: input f32[4,4] grad, %w: param f32[4,4] grad) {\n"
      "  %m = mm(%x, %w)\n  %v = view(%m; size=[4,4]) !recompute(must_save)\n"
      "  %s = mm(%v, %w)\n  return %s\n}\n");
  simplify_as_pytorch(joint);
  EXPECT_FALSE(value_or_throw(pytorch_conflict(joint, {})).has_value());
}

}  // namespace
}  // namespace cleave
