// The complete search against all sequences, run by the simulator.
#include "plan/exact_sequence.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "plan/order.h"
#include "plan/simulate.h"
#include "test/plan/random_task_graph.h"

namespace cleave::plan {
namespace {

// Calls f for each valid sequence of at most `longest` runs.
void for_each_sequence(const TaskGraph& g, size_t longest,
                       const std::function<void(const Simulated&)>& f) {
  std::vector<TaskId> tasks;
  const std::function<void()> extend = [&] {
    if (const auto s = simulate(g, tasks); s.ok()) f(*s);
    if (tasks.size() == longest) return;
    for (TaskId v = 0; v < g.size(); ++v) {
      const auto has_run = [&](TaskId x) { return std::ranges::count(tasks, x) > 0; };
      if (!std::ranges::all_of(g.before(v), has_run) || (g[v].once && has_run(v))) continue;
      tasks.push_back(v);
      extend();
      tasks.pop_back();
    }
  };
  extend();
}

// Of five tasks; a best sequence has at most as many runs again as there are tasks to keep alive.
TEST(ExactSequence, equals_every_sequence) {
  size_t with_copies = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SplitMix random(seed);
    const TaskGraph g = random_graph(random, {seed < 20 ? 5u : 4u, 45, 9, 5, seed % 2 == 0,
                                              seed % 3 == 0, seed % 5 == 0, seed < 20 ? 1u : 3u});
    const int64_t top = value_or_throw(simulate(g, first_order(g))).peak;
    std::vector<int64_t> least(static_cast<size_t>(top) + 1, INT64_MAX);  // time, by limit
    for_each_sequence(g, 8, [&](const Simulated& s) {
      for (int64_t limit = s.peak; limit <= top; ++limit)
        least[static_cast<size_t>(limit)] = std::min(least[static_cast<size_t>(limit)], s.time);
    });
    const auto reached = std::ranges::find_if(least, [](int64_t t) { return t != INT64_MAX; });
    ASSERT_EQ(exact_min_peak(g), reached - least.begin()) << "seed " << seed;
    ASSERT_EQ(exact_lowest(g).peak, reached - least.begin()) << "seed " << seed;
    for (int64_t limit = 0; limit <= top; ++limit) {
      const auto found = exact_min_time(g, limit);
      const int64_t want = least[static_cast<size_t>(limit)];
      ASSERT_EQ(found ? found->time : INT64_MAX, want) << "seed " << seed << ", limit " << limit;
      if (found) { ASSERT_LE(found->peak, limit); }
      with_copies += found && found->tasks.size() > g.size();
    }
  }
  EXPECT_GE(with_copies, 5u);
}

TEST(ExactSequence, follows_the_order_of_first_runs) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SplitMix random(seed);
    const bool several = seed % 4 == 3;
    const TaskGraph g = random_graph(random, {several ? 5u : 9u, 30, 9, 5, seed % 2 == 0,
                                              seed % 3 == 0, false, several ? 2u : 1u});
    const std::vector<TaskId> order = first_order(g);
    const int64_t top = value_or_throw(simulate(g, order)).peak;
    for (const int64_t limit : {top, top * 4 / 5}) {
      const auto found = exact_min_time(g, limit, order);
      if (!found) continue;
      std::vector<TaskId> first;
      for (const TaskId v : found->tasks)
        if (std::ranges::count(first, v) == 0) first.push_back(v);
      EXPECT_EQ(first, order) << "seed " << seed;
      EXPECT_GE(found->time, exact_min_time(g, limit)->time) << "seed " << seed;
    }
  }
}

TEST(ExactSequence, of_nothing) {
  const TaskGraph g = value_or_throw(make_task_graph({}, {}));
  EXPECT_EQ(exact_min_peak(g), 0);
  EXPECT_TRUE(exact_lowest(g).tasks.empty());
}

// As large as it gets, nothing pruned: every state is reached.
TEST(ExactSequence, of_twelve_tasks) {
  std::vector<Task> tasks(max_values_for_exact, Task{.bytes = 1, .time = 1});
  const TaskGraph g = value_or_throw(make_task_graph(std::move(tasks), {}));
  EXPECT_EQ(exact_min_time(g, 1)->tasks.size(), max_values_for_exact);
}

}  // namespace
}  // namespace cleave::plan
