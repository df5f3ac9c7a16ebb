// Blocks of a chain that run again one after the other.
#include "plan/block_sequence.h"

#include <gtest/gtest.h>

#include <cmath>

#include "plan/recompute.h"
#include "plan/simulate.h"
#include "test/plan/random_task_graph.h"

namespace cleave::plan {
namespace {

// `n` tasks of one byte and a backward each, which reads the one after it and its own.
TaskGraph chain(TaskId n) {
  std::vector<Link> links;
  for (TaskId k = 1; k < 2 * n; ++k) links.emplace_back(k - 1, k);
  for (TaskId k = 1; k < n; ++k) links.emplace_back(n - 1 - k, n + k);
  return value_or_throw(make_task_graph(std::vector<Task>(2 * n, {.bytes = 1, .time = 1}), links));
}

TEST(BlockSequence, a_chain_fits_in_a_few_roots_of_its_length) {
  for (const TaskId n : {100, 1000, 20000}) {
    const TaskGraph g = chain(n);
    const auto limit = static_cast<int64_t>(4 * std::sqrt(n));
    const auto found = blocks_to_limit(g, first_order(g), limit);
    ASSERT_TRUE(found.has_value());
    const Simulated run = value_or_throw(simulate(g, found->tasks));
    EXPECT_EQ(run.peak, found->peak);
    EXPECT_LE(run.peak, limit);
    EXPECT_LE(run.time, 3 * static_cast<int64_t>(n));  // each forward task twice at most
  }
}

TEST(BlockSequence, half_of_a_chain_costs_half_of_its_forward) {
  const TaskId n = 5000;
  const TaskGraph g = chain(n);
  const RecomputePlan plan =
      value_or_throw(plan_recompute(g, first_order(g), n / 2, {.moves = 100}));
  ASSERT_TRUE(plan.found.met);
  EXPECT_LE(plan.found.peak, n / 2);
  EXPECT_LE(plan.found.time - plan.time_once, n / 2 + 20);
}

TEST(BlockSequence, sequences_are_valid_and_nothing_that_runs_once_runs_again) {
  SplitMix random(3);
  for (int i = 0; i < 300; ++i) {
    RandomShape shape{.tasks = 20, .percent = 15, .workspace = true, .kept = true, .once = true};
    const TaskGraph g = random_graph(random, shape);
    const std::vector<TaskId> order = first_order(g);
    const int64_t peak = value_or_throw(simulate(g, order)).peak;
    const auto found = blocks_to_limit(g, order, peak * 2 / 3);
    if (!found) continue;
    EXPECT_EQ(value_or_throw(simulate(g, found->tasks)).peak, found->peak);
    std::vector<int> runs(g.size());
    for (const TaskId v : found->tasks) ++runs[v];
    for (TaskId v = 0; v < g.size(); ++v) EXPECT_TRUE(runs[v] == 1 || !g[v].once);
  }
}

}  // namespace
}  // namespace cleave::plan
