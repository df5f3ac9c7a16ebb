// Mode exact against every choice of calls that run again, and the rules of tags.
#include "remat/exact_partition.h"

#include "op/registry.h"
#include "test/cut/halves.h"
#include "test/sample/random_graph.h"

namespace cleave {
namespace {

using test::joint_of;

struct Cut {
  Graph joint;
  JointView view;
  ExactCut exact;
  explicit Cut(const std::string& text)
      : joint(joint_of(text)), view(value_or_throw(JointView::make(joint))),
        exact(value_or_throw(ExactCut::make(value_or_throw(CutGraph::make(view, {}))))) {}
};

std::vector<std::string> names_of(const std::vector<SavedValue>& saved) {
  std::vector<std::string> out;
  for (const SavedValue& s : saved) out.push_back(s.name);
  return out;
}

// exp's gradient is its result; recomputing it from %x, which is there anyway, saves nothing.
TEST(ExactPartition, what_is_returned_is_free) {
  const Cut c("graph @main(%x: input f32[4] grad) {\n  %y = exp(%x)\n  return %y\n}\n");
  ASSERT_EQ(c.exact.points().size(), 1u);
  EXPECT_EQ(c.exact.points()[0].saved_bytes, 0);
  EXPECT_EQ(c.exact.points()[0].cost_ns, 0);
}

TEST(ExactPartition, a_chain_of_cosines) {
  const Cut c(
      "graph @main(%x: input f32[100] grad) {\n  %a = cos(%x)\n  %b = cos(%a)\n  %c = cos(%b)\n"
      "  return %c\n}\n");
  // %a and %b, 400 B each, are saved or run again from %x.
  const std::vector<CutPoint>& points = c.exact.points();
  ASSERT_EQ(points.size(), 3u);
  EXPECT_EQ(points[0].saved_bytes, 800);
  EXPECT_EQ(points[1].saved_bytes, 400);
  EXPECT_EQ(points[2].saved_bytes, 0);
  EXPECT_EQ(points[0].cost_ns, 0);
  EXPECT_LT(points[1].cost_ns, points[2].cost_ns);
  const Partition all = value_or_throw(c.exact.partition_at(2));
  EXPECT_EQ(names_of(all.saved), std::vector<std::string>{"x"});
  EXPECT_EQ(recompute_cost_ns(c.joint, all, {}), points[2].cost_ns);
}

TEST(ExactPartition, tags_win) {
  const std::string chain =
      "graph @main(%x: input f32[100] grad) {{\n  %a = cos(%x) {}\n  %b = cos(%a)\n"
      "  return %b\n}}\n";
  // Where %a must run again, sin(%a) may be saved in its stead, or nothing.
  const Cut again(fmt::format(fmt::runtime(chain), "!recompute(must_recompute, ac=1)"));
  for (size_t k = 0; k < again.exact.points().size(); ++k)
    for (const std::string& name : names_of(value_or_throw(again.exact.partition_at(k)).saved))
      EXPECT_NE(name, "a");
  EXPECT_EQ(again.exact.points().back().saved_bytes, 0);
  const Cut saved(fmt::format(fmt::runtime(chain), "!recompute(must_save, ac=1)"));
  for (const CutPoint& point : saved.exact.points()) EXPECT_GE(point.saved_bytes, 400);
}

TEST(ExactPartition, contradictory_tags_are_named) {
  const Graph joint = joint_of(
      "graph @main(%x: input f32[4] grad, %y: input f32[2,2] grad) {\n"
      "  %a = cos(%x) !recompute(must_recompute, ac=1)\n"
      "  %v = view(%a; size=[2,2]) !recompute(must_save, ac=1)\n  %b = mul(%v, %y)\n"
      "  return %b\n}\n");
  const JointView view = value_or_throw(JointView::make(joint));
  const Result<CutGraph> graph = CutGraph::make(view, {});
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.failure().kind, ErrorKind::user);
  EXPECT_NE(graph.failure().message.find("%a: tagged must_recompute"), std::string::npos)
      << graph.failure().message;
}

// Every set of calls that run again, priced by its halves.
TEST(ExactPartition, no_choice_of_calls_beats_the_frontier) {
  const OpRegistry ops = value_or_throw(core_ops());
  int graphs = 0, choices = 0;
  for (uint64_t seed = 0; graphs < 60 && seed < 400; ++seed) {
    random::GraphOptions options{.min_nodes = 3, .max_nodes = 9};
    const random::RandomGraph r = value_or_throw(random::with_gradients(
        value_or_throw(random::random_graph(ops, seed, options)), ops, seed));
    const Result<JointView> view = JointView::make(r.g);
    if (!view.ok()) continue;
    const Result<CutGraph> made = CutGraph::make(*view, {}, Returned::counted);
    if (!made.ok() || made->flow().calls() > 11) continue;
    ++graphs;
    const ExactCut exact = value_or_throw(ExactCut::make(*made));
    const flow::ForwardGraph& f = exact.graph().flow();
    for (uint32_t set = 0; set < 1u << f.calls(); ++set) {
      std::vector<uint8_t> again(f.cost.size());
      for (size_t n = 0; n < again.size(); ++n) again[n] = set >> n & 1;
      const flow::PartitionChoice c = flow::choice_of(f, again);
      bool allowed = true;
      for (size_t n = 0; n < again.size(); ++n) allowed = allowed && !(again[n] && f.pinned[n]);
      for (size_t v = 0; v < c.save.size(); ++v)
        allowed = allowed && !(c.save[v] && f.unsavable[v]);
      if (!allowed) continue;
      ++choices;
      const std::optional<int64_t> least = exact.min_cost(c.bytes);
      ASSERT_TRUE(least) << "seed " << seed;
      EXPECT_LE(*least, c.cost) << "seed " << seed << " set " << set;
      // Bytes and cost agree with the halves.
      if (choices % 50 != 0) continue;
      const Partition cut = value_or_throw(exact.partition(again));
      EXPECT_LE(cut.saved_activation_bytes, c.bytes) << "seed " << seed << " set " << set;
    }
  }
  EXPECT_EQ(graphs, 60);
  EXPECT_GT(choices, 1000);
}

TEST(ExactPartition, points_fall_in_bytes_and_rise_in_cost) {
  const OpRegistry ops = value_or_throw(core_ops());
  int joints = 0;
  for (uint64_t seed = 500; seed < 540; ++seed) {
    const random::RandomGraph r = value_or_throw(
        random::with_gradients(value_or_throw(random::random_graph(ops, seed, {})), ops, seed));
    const Result<JointView> view = JointView::make(r.g);
    if (!view.ok()) continue;
    ++joints;
    const ExactCut exact =
        value_or_throw(ExactCut::make(value_or_throw(CutGraph::make(*view, {}))));
    const std::vector<CutPoint>& points = exact.points();
    for (size_t k = 1; k < points.size(); ++k) {
      EXPECT_LT(points[k].saved_bytes, points[k - 1].saved_bytes) << "seed " << seed;
      EXPECT_GE(points[k].cost_ns, points[k - 1].cost_ns) << "seed " << seed;
      EXPECT_LE(*exact.min_cost(points[k].saved_bytes), points[k].cost_ns) << "seed " << seed;
    }
  }
  EXPECT_GT(joints, 20);
}

// The same call of the same operands is merged, whatever the Python hashes of its attributes are.
TEST(ExactPartition, equal_calls_are_merged) {
  const auto calls_left = [](const std::string& body) {
    Graph joint = joint_of("graph @main(%x: input f32[3] grad) {\n" + body + "}\n");
    simplify_joint(joint);
    return test::count(joint, "unsqueeze");
  };
  EXPECT_EQ(calls_left("  %a = unsqueeze(%x; dim=-2)\n  %b = unsqueeze(%x; dim=-1)\n"
                       "  %c = unsqueeze(%x; dim=-1)\n  %d = mul(%b, %c)\n"
                       "  %y = mul(%a, %d)\n  return %y\n"),
            2);
  // Returned ones too: a program's results are values, not memory.
  EXPECT_EQ(calls_left("  %a = unsqueeze(%x; dim=-2)\n  %b = unsqueeze(%x; dim=-2)\n"
                       "  return %a, %b\n"),
            1);
  EXPECT_EQ(calls_left("  %a = unsqueeze(%x; dim=-2)\n"
                       "  %b = unsqueeze(%x; dim=-2) !recompute(must_save)\n"
                       "  %y = mul(%a, %b)\n  return %y\n"),
            2);
}

// The smallest cut recomputes all calls that may run again, which collectives may not.
TEST(ExactPartition, collectives_run_once) {
  const Cut c(
      "graph @main(%x: input f32[4] grad) {\n  %a = sin(%x)\n"
      "  %c = all_reduce(%a; reduce_op=\"sum\", group_name=\"tp\")\n  %w = wait_tensor(%c)\n"
      "  %y = sin(%w)\n  %z = sin(%y)\n  return %z\n}\n");
  ASSERT_GE(c.exact.points().size(), 2u);
  const Partition least = value_or_throw(c.exact.partition_at(c.exact.points().size() - 1));
  EXPECT_EQ(names_of(least.saved), (std::vector<std::string>{"x", "w"}));
  EXPECT_EQ(test::count(least.forward, "all_reduce"), 1);
  EXPECT_EQ(test::count(least.backward, "all_reduce"), 1);  // the gradient's
  test::expect_halves(c.joint, least);
}

}  // namespace
}  // namespace cleave
