// Cuts at the peak, one after the other; a sequence as a graph of its runs.
#include "plan/cut_sequence.h"

#include <gtest/gtest.h>

#include <numeric>

#include "plan/simulate.h"
#include "test/plan/random_task_graph.h"

namespace cleave::plan {
namespace {

std::vector<TaskId> numbers(size_t count) {
  std::vector<TaskId> out(count);
  std::iota(out.begin(), out.end(), TaskId{0});
  return out;
}

// The first order with some tasks run again, each somewhere after its first run.
std::vector<TaskId> with_copies(SplitMix& random, const TaskGraph& g) {
  std::vector<TaskId> tasks;
  for (const TaskId v : first_order(g)) {
    tasks.push_back(v);
    const TaskId again = tasks[random.below(static_cast<uint32_t>(tasks.size()))];
    if (random.below(2) == 0 && !g[again].once) tasks.push_back(again);
  }
  return tasks;
}

TEST(CutSequence, a_reader_takes_the_newest_copy) {
  // a, b reads a, c, a again, d reads a and b
  const std::vector<Link> links = {{0, 1}, {0, 3}, {1, 3}};
  const TaskGraph g = value_or_throw(make_task_graph(std::vector<Task>(4), links));
  const TaskGraph runs = value_or_throw(unrolled(g, std::vector<TaskId>{0, 1, 2, 0, 3}));
  ASSERT_EQ(runs.size(), 5u);
  EXPECT_EQ(runs.operands(1).size(), 1u);
  EXPECT_EQ(runs.operands(1)[0], 0u);
  EXPECT_EQ((std::vector<TaskId>(runs.operands(4).begin(), runs.operands(4).end())),
            (std::vector<TaskId>{1, 3}));
}

TEST(CutSequence, runs_hold_what_the_sequence_holds) {
  SplitMix random(11);
  for (int i = 0; i < 300; ++i) {
    RandomShape shape{.tasks = 12, .percent = 25, .workspace = true, .kept = true, .once = true};
    shape.most_values = i % 2 == 0 ? 1 : 3;
    const TaskGraph g = random_graph(random, shape);
    const std::vector<TaskId> sequence = with_copies(random, g);
    const TaskGraph runs = value_or_throw(unrolled(g, sequence));
    EXPECT_EQ(value_or_throw(simulate(runs, numbers(runs.size()))).bytes_at,
              value_or_throw(simulate(g, sequence)).bytes_at);
  }
}

// Layer k: a small value from the layer before, and a large one of it, which the backward reads in
// reverse order.
TaskGraph layers(TaskId count) {
  std::vector<Task> tasks;
  std::vector<Link> links;
  for (TaskId k = 0; k < count; ++k) {
    tasks.push_back({.bytes = 10, .time = 100});
    tasks.push_back({.bytes = 100, .time = 10});
    if (k > 0) links.emplace_back(2 * k - 2, 2 * k);
    links.emplace_back(2 * k, 2 * k + 1);
  }
  for (TaskId k = 0; k < count; ++k) {
    tasks.push_back({.bytes = 10, .time = 100});
    if (k > 0) links.emplace_back(2 * count + k - 1, 2 * count + k);
    links.emplace_back(2 * (count - 1 - k), 2 * count + k);
    links.emplace_back(2 * (count - 1 - k) + 1, 2 * count + k);
  }
  return value_or_throw(make_task_graph(std::move(tasks), links));
}

// All layers have one price, so at each price a cut runs all large values again or none.
TEST(CutSequence, of_equal_layers_only_as_many_run_again_as_have_to) {
  const TaskGraph g = layers(16);
  const std::vector<TaskId> order = numbers(g.size());
  const int64_t peak = value_or_throw(simulate(g, order)).peak;
  for (const int dropped : {1, 4, 8}) {
    const auto cut = cut_to_limit(g, order, peak - 100 * dropped, 8);
    ASSERT_TRUE(cut) << dropped;
    EXPECT_LE(cut->peak, peak - 100 * dropped);
    EXPECT_LE(cut->tasks.size(), order.size() + static_cast<size_t>(dropped) + 1) << dropped;
  }
}

TEST(CutSequence, a_task_before_its_operand_is_refused) {
  const std::vector<Link> links = {{0, 1}};
  const TaskGraph g = value_or_throw(make_task_graph(std::vector<Task>(2), links));
  const auto r = unrolled(g, std::vector<TaskId>{1, 0});
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.failure().message, "position 0: task 1 reads task 0, which has not run yet");
}

// A forward chain with links from afar, and a backward that reads it in the other direction: what a
// cut runs again holds much after the peak, so one cut is often not enough.
TaskGraph training_graph(SplitMix& random, TaskId forward) {
  std::vector<Task> tasks;
  std::vector<Link> links;
  for (TaskId v = 0; v < 2 * forward; ++v) {
    tasks.push_back({1 + random.below(9), 0, 1 + random.below(5)});
    if (v > 0) links.emplace_back(v - 1, v);
  }
  for (TaskId v = 1; v < forward; ++v) {
    for (int k = 0; k < 2; ++k) links.emplace_back(random.below(v), v);
    links.emplace_back(v, 2 * forward - 1 - v);
  }
  return value_or_throw(make_task_graph(std::move(tasks), links));
}

TEST(CutSequence, more_cuts_reach_more_limits) {
  SplitMix random(7);
  int by_one = 0, by_many = 0;
  for (int i = 0; i < 200; ++i) {
    const TaskGraph g = training_graph(random, 20);
    const std::vector<TaskId> order = first_order(g);
    const int64_t limit = value_or_throw(simulate(g, order)).peak * 7 / 10;
    const auto one = cut_to_limit(g, order, limit, 1), many = cut_to_limit(g, order, limit, 16);
    if (!one) continue;
    ASSERT_TRUE(many);
    const Simulated checked = value_or_throw(simulate(g, many->tasks));
    EXPECT_EQ(checked.peak, many->peak);
    EXPECT_EQ(checked.peak_position, many->peak_position);
    EXPECT_LE(many->peak, one->peak);
    by_one += one->peak <= limit;
    by_many += many->peak <= limit;
  }
  EXPECT_GT(by_many, 2 * by_one) << by_one << " by one cut, " << by_many << " by sixteen";
  EXPECT_GE(by_many, 100);
}

}  // namespace
}  // namespace cleave::plan
