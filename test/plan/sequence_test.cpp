// The sequence under edit against the simulator, and the simulator against sums by hand and against
// every live value looked up anew at every position.
// tests: simulate.cpp
// tests: sequence_profile.cpp task_graph.cpp
#include "plan/sequence.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "plan/simulate.h"
#include "test/plan/random_task_graph.h"

namespace cleave::plan {
namespace {

TaskGraph chain_with_skip() {  // a(4) -> b(2) -> c(1), d(1) reads a and c
  const std::vector<Link> links = {{0, 1}, {1, 2}, {2, 3}, {0, 3}};
  return value_or_throw(make_task_graph({{4, 0, 1}, {2, 0, 2}, {1, 5, 3}, {1, 0, 4}}, links));
}

TEST(Simulate, AddsUpTheDrawnRule) {
  const TaskGraph g = chain_with_skip();
  const Simulated once = value_or_throw(simulate(g, std::vector<TaskId>{0, 1, 2, 3}));
  EXPECT_EQ(once.bytes_at, (std::vector<int64_t>{4, 6, 12, 6}));
  EXPECT_EQ(once.peak, 12);
  EXPECT_EQ(once.peak_position, 2u);
  EXPECT_EQ(once.time, 10);
  const Simulated again = value_or_throw(simulate(g, std::vector<TaskId>{0, 1, 2, 0, 3}));
  EXPECT_EQ(again.bytes_at, (std::vector<int64_t>{4, 6, 8, 5, 6}));
  EXPECT_DOUBLE_EQ(again.overhead_percent(), 10.0);
}

TEST(Simulate, KeptValuesLiveToTheEnd) {
  const std::vector<Link> links = {{0, 1}, {0, 2}};
  const TaskGraph g = value_or_throw(make_task_graph({{3, 0, 1}, {5, 0, 1, true}, {2}}, links));
  const Simulated s = value_or_throw(simulate(g, std::vector<TaskId>{0, 1, 2}));
  EXPECT_EQ(s.bytes_at, (std::vector<int64_t>{3, 8, 10}));
}

// m makes x (4) and y (3), n reads x, o reads y: x is freed early, y lives on.
TEST(Simulate, each_of_several_values_lives_as_long_as_it_is_read) {
  const std::vector<Value> values = {{0, false, false, 4},
                                     {0, false, false, 3},
                                     {1, false, false, 1},
                                     {2, false, false, 2},
                                     {3, false, false, 6}};
  const std::vector<Link> links = {{0, 1}, {2, 2}, {1, 3}, {3, 3}};
  const TaskGraph g =
      value_or_throw(make_task_graph(std::vector<Task>(4, {.time = 1}), values, links));
  EXPECT_EQ(g[0].bytes, 7);
  const Simulated s = value_or_throw(simulate(g, std::vector<TaskId>{0, 1, 2, 3}));
  EXPECT_EQ(s.bytes_at, (std::vector<int64_t>{7, 8, 3 + 1 + 2, 3 + 2 + 6}));
  // Run again for y, all of it is made anew: x too, which nobody reads.
  const Simulated again = value_or_throw(simulate(g, std::vector<TaskId>{0, 1, 2, 0, 3}));
  EXPECT_EQ(again.bytes_at, (std::vector<int64_t>{7, 4 + 1, 1 + 2, 2 + 7, 3 + 2 + 6}));
}

TEST(Simulate, a_run_leaves_out_what_is_optional_and_unread) {
  const std::vector<Value> values = {
      {0, true, true, 4}, {0, false, true, 3}, {1, false, false, 1}, {2, false, false, 2}};
  const std::vector<Link> links = {{0, 1}, {1, 2}};
  const TaskGraph g = value_or_throw(make_task_graph(std::vector<Task>(3), values, links));
  const auto bytes_at = [&](std::vector<TaskId> tasks) {
    return value_or_throw(simulate(g, tasks)).bytes_at;
  };
  EXPECT_EQ(bytes_at({0, 1, 2}), (std::vector<int64_t>{7, 8, 9}));
  EXPECT_EQ(bytes_at({0, 1, 0, 2}), (std::vector<int64_t>{4, 5, 7, 9}));
  EXPECT_EQ(bytes_at({0, 0, 1, 2}), (std::vector<int64_t>{0, 7, 8, 9}));
}

// What is in memory at a position, by looking at all other runs for each value of each run.
std::vector<int64_t> every_value_looked_up(const TaskGraph& g, const std::vector<TaskId>& tasks) {
  std::vector<int64_t> bytes(tasks.size(), 0);
  for (size_t run = 0; run < tasks.size(); ++run) {
    bytes[run] += g[tasks[run]].workspace;
    const size_t again = static_cast<size_t>(
        std::find(tasks.begin() + static_cast<std::ptrdiff_t>(run) + 1, tasks.end(), tasks[run]) -
        tasks.begin());
    for (ValueId x = 0; x < g.values.size(); ++x) {
      if (g.values[x].maker != tasks[run]) continue;
      size_t end = g.values[x].optional ? run : run + 1;
      for (size_t reader = run + 1; reader < again; ++reader)
        if (const auto users = g.users(x); std::ranges::count(users, tasks[reader]) > 0)
          end = reader + 1;
      if (g.values[x].kept && again == tasks.size()) end = tasks.size();
      for (size_t s = run; s < end; ++s) bytes[s] += g.values[x].bytes;
    }
  }
  return bytes;
}

TEST(Simulate, equals_every_value_looked_up) {
  size_t several = 0;
  for (uint64_t seed = 0; seed < 500; ++seed) {
    SplitMix random(seed);
    const TaskGraph g = random_graph(random, {1 + random.below(10), 35, 9, 5, true, true, false,
                                              1 + static_cast<uint32_t>(seed % 4)});
    std::vector<TaskId> tasks;
    for (const TaskId v : first_order(g)) {
      tasks.push_back(v);
      while (random.below(2) == 0)
        tasks.push_back(tasks[random.below(static_cast<uint32_t>(tasks.size()))]);
    }
    const Simulated s = value_or_throw(simulate(g, tasks));
    ASSERT_EQ(s.bytes_at, every_value_looked_up(g, tasks)) << "seed " << seed;
    ASSERT_EQ(s.peak, *std::ranges::max_element(s.bytes_at));
    several += tasks.size() > g.size() && g.values.size() > g.size();
  }
  EXPECT_GE(several, 200u);
}

TEST(Simulate, RejectsPlantedErrors) {
  const TaskGraph g = chain_with_skip();
  const std::vector<std::pair<std::vector<TaskId>, std::string>> wrong = {
      {{0, 1, 2}, "task 3 never runs"},
      {{0, 2, 1, 3}, "position 1: task 2 reads task 1, which has not run yet"},
      {{0, 1, 2, 3, 4}, "position 4: there is no task 4, only 4"},
      {{}, "task 0 never runs"}};
  for (const auto& [sequence, message] : wrong) {
    const auto s = simulate(g, sequence);
    ASSERT_FALSE(s.ok()) << message;
    EXPECT_EQ(s.failure().message, message);
  }
}

TEST(Simulate, RejectsASecondRunOfWhatRunsOnce) {
  std::vector<Task> tasks = {{1}, {1}};
  tasks[0].once = true;
  const TaskGraph g = value_or_throw(make_task_graph(tasks, {}));
  EXPECT_TRUE(simulate(g, std::vector<TaskId>{0, 1, 1}).ok());
  const auto s = simulate(g, std::vector<TaskId>{0, 1, 0});
  ASSERT_FALSE(s.ok());
  EXPECT_EQ(s.failure().message, "position 2: task 0 runs again, which it must not");
}

TEST(TaskGraph, RefusesWhatIsNoGraph) {
  const auto message = [](std::vector<Task> tasks, std::vector<Link> links) {
    const auto g = make_task_graph(std::move(tasks), links);
    return g.ok() ? std::string("accepted") : g.failure().message;
  };
  EXPECT_EQ(message({{1}, {1}, {1}}, {{0, 1}, {1, 2}, {2, 1}}),
            "tasks 1 -> 2 -> 1 form a cycle; a task may not need itself");
  EXPECT_EQ(message({{1}}, {{0, 0}}), "tasks 0 -> 0 form a cycle; a task may not need itself");
  EXPECT_EQ(message({{1}}, {{0, 7}}), "a link from task 0 to 7: there are 1 tasks");
  EXPECT_EQ(message({{1}, {-1}}, {}),
            "task 1: bytes -1, workspace 0, time 0: expected none below 0");
  EXPECT_EQ(message({{INT64_MAX}, {INT64_MAX}}, {}),
            "task 0: the sums of bytes and time must stay below 2^50; use larger units");
}

TEST(TaskGraph, refuses_values_that_do_not_stand_by_task) {
  const auto message = [](size_t tasks, std::vector<Value> values, std::vector<Link> links) {
    const auto g = make_task_graph(std::vector<Task>(tasks), std::move(values), links);
    return g.ok() ? std::string("accepted") : g.failure().message;
  };
  EXPECT_EQ(message(2, {{0}, {0}, {1}}, {{1, 1}}), "accepted");
  EXPECT_EQ(message(2, {{0}, {1}, {0}}, {}), "value 2 of task 0: expected one of task 2");
  EXPECT_EQ(message(2, {{0}, {0}}, {}), "2 tasks, but values of 1");
  EXPECT_EQ(message(2, {{0}, {0}, {1}}, {{3, 1}}), "a link from value 3 to 1: there are 3 values");
  EXPECT_EQ(message(2, {{0}, {0}, {1}}, {{1, 1}, {2, 0}}),
            "tasks 0 -> 1 -> 0 form a cycle; a task may not need itself");
  EXPECT_EQ(message(1, {{.bytes = -1}}, {}), "value 0: bytes -1: expected none below 0");
  EXPECT_EQ(message(1, {{.bytes = largest_sum}, {.bytes = 1}}, {}),
            "task 0: the sums of bytes must stay below 2^50; use larger units");
}

void expect_like_simulator(const TaskGraph& g, const Sequence& s, int64_t limit) {
  const Simulated want = value_or_throw(simulate(g, s.tasks()));
  std::vector<int64_t> got;
  int64_t over = 0;
  for (size_t slot = 0; slot < s.slots(); ++slot)
    if (s.at_slot(slot) != Sequence::none)
      got.push_back(static_cast<int64_t>(s.profile().at(slot)));
  for (int64_t b : want.bytes_at) over += std::max<int64_t>(0, b - limit);
  ASSERT_EQ(got, want.bytes_at);
  ASSERT_EQ(static_cast<int64_t>(s.profile().peak()), want.peak);
  ASSERT_EQ(static_cast<int64_t>(s.profile().over()), over);
  ASSERT_EQ(s.profile().within_limit(), want.peak <= limit);
  ASSERT_EQ(s.time(), want.time);
}

void random_edit(Sequence& s, SplitMix& random) {
  const TaskGraph& g = s.graph();
  const auto any_copy = [&] {
    for (;;)
      if (CopyId c = s.at_slot(random.below(static_cast<uint32_t>(s.slots()))); c != Sequence::none)
        return c;
  };
  const uint32_t kind = random.below(4);
  if (kind == 0) {
    const TaskId v = random.below(static_cast<uint32_t>(g.size()));
    if (const CopyId after = any_copy(); s.slot(after) >= s.slot(s.first_copy(v)))
      s.insert(v, after);
  } else if (kind == 1 && !s.extra().empty()) {
    s.remove(s.extra()[random.below(static_cast<uint32_t>(s.extra().size()))]);
  } else {
    const CopyId c = any_copy();
    s.move(c, random.below(9) == 0 ? Sequence::none : any_copy());
  }
}

// Copies are inserted at one position until the sequence must be renumbered, between a mark and its
// undo.
TEST(Sequence, MakesRoomAndGoesBack) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    SplitMix random(seed);
    const TaskGraph g = random_graph(random, {3 + random.below(60), 25, 20, 5, true, true, false,
                                              1 + static_cast<uint32_t>(seed % 4)});
    const int64_t limit = random.below(200);
    Sequence s(g, first_order(g), limit);
    for (int round = 0; round < 12; ++round) {
      const std::vector<TaskId> before = s.tasks();
      s.mark();
      for (uint32_t n = 1 + random.below(150); n > 0; --n) {
        const TaskId v = random.below(static_cast<uint32_t>(g.size()));
        s.insert(v, s.first_copy(v));
        if (random.below(4) == 0) random_edit(s, random);
      }
      ASSERT_NO_FATAL_FAILURE(expect_like_simulator(g, s, limit)) << "seed " << seed;
      if (round % 3 == 0) continue;
      s.undo();
      ASSERT_EQ(s.tasks(), before);
      ASSERT_NO_FATAL_FAILURE(expect_like_simulator(g, s, limit)) << "undo, seed " << seed;
    }
  }
}

TEST(Sequence, StaysLikeTheSimulatorUnderRandomEdits) {
  size_t edits = 0;
  for (uint64_t seed = 0; seed < 150; ++seed) {
    SplitMix random(seed);
    const TaskGraph g = random_graph(random, {2 + random.below(30), 25, 20, 5, true, true, false,
                                              1 + static_cast<uint32_t>(seed % 3)});
    const int64_t limit = random.below(60);
    Sequence s(g, first_order(g), limit);
    ASSERT_NO_FATAL_FAILURE(expect_like_simulator(g, s, limit));
    for (int round = 0; round < 60; ++round, ++edits) {
      const std::vector<TaskId> before = s.tasks();
      s.mark();
      for (uint32_t n = 1 + random.below(4); n > 0; --n) random_edit(s, random);
      ASSERT_NO_FATAL_FAILURE(expect_like_simulator(g, s, limit)) << "seed " << seed;
      if (random.below(2) == 0) continue;
      s.undo();
      ASSERT_EQ(s.tasks(), before);
      ASSERT_NO_FATAL_FAILURE(expect_like_simulator(g, s, limit)) << "undo, seed " << seed;
    }
  }
  EXPECT_EQ(edits, 9000u);
}

}  // namespace
}  // namespace cleave::plan
