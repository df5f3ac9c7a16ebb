// Which folds run in which way, and in which pass over a row what is known.
// tests: fold_form.cpp
#include "schedule/group_plan.h"

#include <gtest/gtest.h>

#include "test/random_inputs.h"

namespace cleave {
namespace {

struct Planned {
  Graph graph;
  Result<GroupPlan> plan;
};

// All calls of @g(%x: f32[shape]) as one group.
Planned planned(const std::string& shape, const std::string& calls, const std::string& returns) {
  Graph g = test::parsed("graph @g(%x: input f32[" + shape + "]) {\n" + calls + "  return " +
                         returns + "\n}\n");
  std::vector<NodeId> nodes;
  for (NodeId n = g.last_node(); n.valid(); n = g.prev_node(n)) nodes.insert(nodes.begin(), n);
  std::vector<ValueId> results;
  for (const Return& r : g.returns()) results.push_back(r.value);
  Result<GroupPlan> plan = GroupPlan::make(g, nodes, results);
  return {std::move(g), std::move(plan)};
}

GroupMode mode_of(const std::string& shape, const std::string& calls, const std::string& returns) {
  return value_or_throw(planned(shape, calls, returns).plan).mode;
}

const std::string over_columns = "  %c = sum(%x; dim=[0], keepdim=true)\n",
                  over_rows = "  %r = sum(%x; dim=[1], keepdim=true)\n";

TEST(GroupPlan, the_folds_say_how_it_runs) {
  EXPECT_EQ(mode_of("64,32", "  %y = neg(%x)\n", "%y"), GroupMode::plain);
  EXPECT_EQ(mode_of("64,32", over_rows, "%r"), GroupMode::rows);
  EXPECT_EQ(mode_of("64,32", over_columns, "%c"), GroupMode::columns);
  EXPECT_EQ(mode_of("64,32", over_columns + "  %y = div(%x, %c)\n", "%y"), GroupMode::lanes);
  EXPECT_EQ(mode_of("64,32", over_rows + "  %y = div(%x, %r)\n" + over_columns, "%y, %c"),
            GroupMode::rows_and_columns);
  EXPECT_EQ(mode_of("65536", "  %s = sum(%x; dim=[0])\n", "%s"), GroupMode::chunks);
}

TEST(GroupPlan, what_reads_a_fold_is_known_one_pass_later) {
  const Planned p = planned("64,32",
                            over_rows +
                                "  %d = sub(%x, %r)\n"
                                "  %q = sum(%d; dim=[1], keepdim=true)\n"
                                "  %y = div(%d, %q)\n",
                            "%y");
  const GroupPlan plan = value_or_throw(p.plan);
  EXPECT_EQ(plan.last_pass, 2u);
  ASSERT_EQ(plan.folds.size(), 2u);
  EXPECT_EQ(plan.folds[0].pass, 0u);
  EXPECT_EQ(plan.folds[1].pass, 1u);
  EXPECT_EQ(plan.pass_of(plan.folds[1].operand), 1u);
  EXPECT_TRUE(plan.is_full(p.graph, plan.folds[1].operand));
  EXPECT_FALSE(plan.is_full(p.graph, plan.folds[1].result));
}

TEST(GroupPlan, folds_of_other_rows_are_no_kernel) {
  const Planned p = planned("64,32", over_rows + "  %s = sum(%x; dim=[0,1])\n", "%r, %s");
  ASSERT_FALSE(p.plan.ok());
  EXPECT_EQ(p.plan.failure().message, "lower: %s: folds other rows");
}

}  // namespace
}  // namespace cleave
