// Orders against complete enumeration on small graphs, and the cases of known answers.
// tests: list_schedule.cpp series_parallel.cpp
// tests: window_order.cpp
#include "plan/order.h"

#include <gtest/gtest.h>

#include <limits>

#include "plan/list_schedule.h"
#include "plan/series_parallel.h"
#include "plan/simulate.h"
#include "test/plan/random_task_graph.h"

namespace cleave::plan {
namespace {

// The least peak over all orders, over sets of tasks run: each set's live bytes counted afresh.
class AllOrders {
 public:
  explicit AllOrders(const TaskGraph& graph)
      : graph_(graph), best_(size_t{1} << graph.size(), -1) {}
  int64_t peak() { return from(0); }

 private:
  int64_t live(uint32_t set) const {
    int64_t bytes = 0;
    for (const Value& x : graph_.values) {
      bool needed = x.kept;
      for (TaskId u : graph_.users(static_cast<ValueId>(&x - graph_.values.data())))
        needed = needed || !(set >> u & 1);
      if ((set >> x.maker & 1) && needed) bytes += x.bytes;
    }
    return bytes;
  }
  int64_t from(uint32_t set) {
    int64_t& best = best_[set];
    if (best >= 0) return best;
    int64_t least = std::numeric_limits<int64_t>::max();
    const int64_t before = live(set);
    for (TaskId v = 0; v < graph_.size(); ++v) {
      bool ready = !(set >> v & 1);
      for (TaskId u : graph_.before(v)) ready = ready && (set >> u & 1);
      if (!ready) continue;
      const int64_t during = before + graph_[v].bytes + graph_[v].workspace;
      least = std::min(least, std::max(during, from(set | 1u << v)));
    }
    return best = set + 1 == best_.size() ? 0 : least;
  }

  const TaskGraph& graph_;
  std::vector<int64_t> best_;
};

int64_t simulated_peak(const TaskGraph& g, const std::vector<TaskId>& tasks) {
  EXPECT_EQ(tasks.size(), g.size());
  return value_or_throw(simulate(g, tasks)).peak;
}

TEST(Order, IsOptimalOnSmallGraphs) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    SplitMix random(seed);
    RandomShape shape{1 + random.below(10), 10 + random.below(50), 20, 1};
    shape.workspace = seed % 2 == 0;
    shape.kept = seed % 3 == 0;
    shape.most_values = seed % 4 < 2 ? 1 : 3;
    const TaskGraph g = random_graph(random, shape);
    const Order order = min_peak_order(g);
    ASSERT_EQ(simulated_peak(g, order.tasks), order.peak) << "seed " << seed;
    ASSERT_EQ(order.peak, AllOrders(g).peak()) << "seed " << seed;
    ASSERT_TRUE(order.optimal);
    ASSERT_EQ(order.lower_bound, order.peak);
  }
}

TEST(Order, ListSchedulesAreValidOrders) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    SplitMix random(seed);
    const TaskGraph g = random_graph(random, {1 + random.below(40), 15, 20, 1, true, true, false,
                                              1 + static_cast<uint32_t>(seed % 3)});
    for (const ListKey key :
         {ListKey::min_peak, ListKey::min_growth, ListKey::newest, ListKey::oldest})
      ASSERT_GE(simulated_peak(g, list_schedule(g, key)), largest_task(g));
    ASSERT_GE(simulated_peak(g, list_schedule_backward(g)), largest_task(g));
    ASSERT_GE(simulated_peak(g, merge_series_parallel(g).tasks), largest_task(g));
  }
}

TEST(Order, GraphsAboveTheSearchAreNeverWorseThanGiven) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SplitMix random(seed);
    const TaskGraph g = random_graph(
        random, {200, 2, 20, 1, true, false, false, 1 + static_cast<uint32_t>(seed % 2)});
    const std::vector<TaskId> given = first_order(g);
    const Order order = min_peak_order(g, given);
    ASSERT_EQ(simulated_peak(g, order.tasks), order.peak);
    ASSERT_LE(order.peak, simulated_peak(g, given));
    ASSERT_GE(order.peak, order.lower_bound);
    ASSERT_EQ(min_peak_order(g, given).tasks, order.tasks);
  }
}

TaskGraph random_tree(SplitMix& random, uint32_t tasks) {
  std::vector<Task> all;
  std::vector<Link> links;
  for (TaskId v = 0; v < tasks; ++v) {
    all.push_back(random_task(random, {.max_bytes = 20, .workspace = true, .kept = true}));
    if (v > 0) links.emplace_back(v, random.below(v));  // each value has one reader
  }
  return value_or_throw(make_task_graph(std::move(all), links));
}

TEST(SeriesParallel, TreesAreOptimal) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SplitMix random(seed);
    const TaskGraph g = random_tree(random, 1 + random.below(12));
    const MergedOrder merged = merge_series_parallel(g);
    ASSERT_TRUE(merged.exact) << "seed " << seed;
    ASSERT_EQ(simulated_peak(g, merged.tasks), AllOrders(g).peak()) << "seed " << seed;
  }
}

// Adds a piece of about `size` tasks between `from` and the task that it returns. A value read by
// several tasks of which none is after the others holds no bytes: who frees it isn't fixed.
TaskId add_piece(SplitMix& random, uint32_t size, TaskId from, std::vector<Task>& tasks,
                 std::vector<Link>& links) {
  const auto add = [&] {
    tasks.push_back(random_task(random, {.max_bytes = 20, .workspace = true}));
    return static_cast<TaskId>(tasks.size() - 1);
  };
  if (size <= 1) {
    links.emplace_back(from, add());
    return links.back().second;
  }
  const uint32_t left = 1 + random.below(size - 1);
  if (random.below(2) == 0)
    return add_piece(random, size - left, add_piece(random, left, from, tasks, links), tasks,
                     links);
  const TaskId a = add_piece(random, left, from, tasks, links);
  const TaskId b = add_piece(random, size - left, from, tasks, links);
  const TaskId join = add();
  links.insert(links.end(), {{a, join}, {b, join}});
  if (random.below(2) == 0)
    links.emplace_back(from, join);  // a skip: the join is the last reader
  else
    tasks[from].bytes = 0;
  return join;
}

// A merge that calls itself exact is, with tasks of several values too.
TEST(SeriesParallel, several_values_are_exact_where_it_says_so) {
  size_t exact = 0;
  for (uint64_t seed = 0; seed < 600; ++seed) {
    SplitMix random(seed);
    RandomShape shape{2 + random.below(7), 20 + random.below(30), 20, 1, true, seed % 2 == 0};
    shape.most_values = 3;
    const TaskGraph g = random_graph(random, shape);
    const MergedOrder merged = merge_series_parallel(g);
    const int64_t best = AllOrders(g).peak(), got = simulated_peak(g, merged.tasks);
    ASSERT_GE(got, best);
    if (!merged.exact) continue;
    exact += g.values.size() > g.size();
    ASSERT_EQ(got, best) << "seed " << seed;
  }
  EXPECT_GE(exact, 50u);
}

TEST(SeriesParallel, PiecesWithSkipsAreOptimal) {
  size_t exact = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    SplitMix random(seed);
    std::vector<Task> tasks{random_task(random, {.max_bytes = 20})};
    std::vector<Link> links;
    add_piece(random, 2 + random.below(6), 0, tasks, links);
    if (tasks.size() > 14) continue;
    const TaskGraph g = value_or_throw(make_task_graph(tasks, links));
    const MergedOrder merged = merge_series_parallel(g);
    const int64_t best = AllOrders(g).peak(), got = simulated_peak(g, merged.tasks);
    ASSERT_GE(got, best);
    if (!merged.exact) continue;
    ++exact;
    ASSERT_EQ(got, best) << "seed " << seed;
  }
  EXPECT_GE(exact, 200u);
}

// Two products of a column and two chains after them; see PyTorch's test_memory.py.
TEST(Order, KnownCaseOfTwoChains) {
  constexpr int64_t rows = 2048 * 4;
  // x, then op0 op1 op2 op3 op4 op5 op7
  const std::vector<Task> tasks = {{rows}, {10 * rows}, {rows}, {rows}, {10 * rows}, {4}, {4}, {4}};
  const std::vector<Link> links = {{0, 1}, {0, 2}, {1, 3}, {2, 4}, {3, 5}, {4, 6}, {5, 7}, {6, 7}};
  const TaskGraph g = value_or_throw(make_task_graph(tasks, links));
  const std::vector<TaskId> least = {0, 2, 1, 3, 5, 4, 6, 7};
  EXPECT_EQ(list_schedule(g, ListKey::min_peak), least);
  EXPECT_EQ(list_schedule(g, ListKey::oldest), (std::vector<TaskId>{0, 1, 2, 3, 4, 5, 6, 7}));
  const Order order = min_peak_order(g);
  EXPECT_EQ(order.tasks, least);
  EXPECT_TRUE(order.optimal);
  EXPECT_EQ(order.peak, AllOrders(g).peak());
}

// sum(a@c, -1) + sum(b@c, -1): one product at a time.
TEST(Order, KnownCaseOfTwoProducts) {
  constexpr int64_t rows = 32768, operand = rows * 16 * 4, product = rows * rows * 4;
  const std::vector<Task> tasks = {{operand}, {operand},  {operand},  {product},
                                   {product}, {rows * 4}, {rows * 4}, {rows * 4}};
  const std::vector<Link> links = {{0, 3}, {2, 3}, {1, 4}, {2, 4}, {3, 5}, {4, 6}, {5, 7}, {6, 7}};
  const Order order = min_peak_order(value_or_throw(make_task_graph(tasks, links)));
  EXPECT_LT(order.peak, 8589934592);
}

TEST(Order, DeepGraphsDoNotRecurse) {
  std::vector<Task> tasks;
  std::vector<Link> links;
  constexpr TaskId size = 100000;
  for (TaskId v = 0; v < size; ++v) {
    tasks.push_back({v % 7 + 1});
    for (TaskId back = 1; back <= 3 && back <= v; ++back) links.emplace_back(v - back, v);
  }
  const TaskGraph g = value_or_throw(make_task_graph(std::move(tasks), links));
  EXPECT_EQ(simulated_peak(g, min_peak_order(g).tasks), largest_task(g));
}

}  // namespace
}  // namespace cleave::plan
