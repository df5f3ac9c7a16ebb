// The sequence under edit against the simulator, and the simulator against sums by hand.
// tests: simulate.cpp
#include "plan/sequence.h"

#include <gtest/gtest.h>

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
  EXPECT_EQ(once.peak_step, 2u);
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

TEST(Simulate, RejectsPlantedErrors) {
  const TaskGraph g = chain_with_skip();
  const std::vector<std::pair<std::vector<TaskId>, std::string>> wrong = {
      {{0, 1, 2}, "task 3 never runs"},
      {{0, 2, 1, 3}, "step 1: task 2 reads task 1, which has not run yet"},
      {{0, 1, 2, 3, 4}, "step 4: there is no task 4, only 4"},
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
  EXPECT_EQ(s.failure().message, "step 2: task 0 runs again, which it must not");
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

void expect_like_simulator(const TaskGraph& g, const Sequence& s, int64_t limit) {
  const Simulated want = value_or_throw(simulate(g, s.steps()));
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
  const auto any_step = [&] {
    for (;;)
      if (CopyId c = s.at_slot(random.below(static_cast<uint32_t>(s.slots()))); c != Sequence::none)
        return c;
  };
  const uint32_t kind = random.below(4);
  if (kind == 0) {
    const TaskId v = random.below(static_cast<uint32_t>(g.size()));
    if (const CopyId after = any_step(); s.slot(after) >= s.slot(s.first_copy(v)))
      s.insert(v, after);
  } else if (kind == 1 && !s.extra().empty()) {
    s.remove(s.extra()[random.below(static_cast<uint32_t>(s.extra().size()))]);
  } else {
    const CopyId c = any_step();
    s.move(c, random.below(9) == 0 ? Sequence::none : any_step());
  }
}

// Copies are inserted at one position until the sequence must be renumbered, between a mark and its
// undo.
TEST(Sequence, MakesRoomAndGoesBack) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    SplitMix random(seed);
    const TaskGraph g = random_graph(random, {3 + random.below(60), 25, 20, 5, true, true});
    const int64_t limit = random.below(200);
    Sequence s(g, first_order(g), limit);
    for (int round = 0; round < 12; ++round) {
      const std::vector<TaskId> before = s.steps();
      s.mark();
      for (uint32_t n = 1 + random.below(150); n > 0; --n) {
        const TaskId v = random.below(static_cast<uint32_t>(g.size()));
        s.insert(v, s.first_copy(v));
        if (random.below(4) == 0) random_edit(s, random);
      }
      ASSERT_NO_FATAL_FAILURE(expect_like_simulator(g, s, limit)) << "seed " << seed;
      if (round % 3 == 0) continue;
      s.undo();
      ASSERT_EQ(s.steps(), before);
      ASSERT_NO_FATAL_FAILURE(expect_like_simulator(g, s, limit)) << "undo, seed " << seed;
    }
  }
}

TEST(Sequence, StaysLikeTheSimulatorUnderRandomEdits) {
  size_t edits = 0;
  for (uint64_t seed = 0; seed < 150; ++seed) {
    SplitMix random(seed);
    const TaskGraph g = random_graph(random, {2 + random.below(30), 25, 20, 5, true, true});
    const int64_t limit = random.below(60);
    Sequence s(g, first_order(g), limit);
    ASSERT_NO_FATAL_FAILURE(expect_like_simulator(g, s, limit));
    for (int round = 0; round < 60; ++round, ++edits) {
      const std::vector<TaskId> before = s.steps();
      s.mark();
      for (uint32_t n = 1 + random.below(4); n > 0; --n) random_edit(s, random);
      ASSERT_NO_FATAL_FAILURE(expect_like_simulator(g, s, limit)) << "seed " << seed;
      if (random.below(2) == 0) continue;
      s.undo();
      ASSERT_EQ(s.steps(), before);
      ASSERT_NO_FATAL_FAILURE(expect_like_simulator(g, s, limit)) << "undo, seed " << seed;
    }
  }
  EXPECT_EQ(edits, 9000u);
}

}  // namespace
}  // namespace cleave::plan
