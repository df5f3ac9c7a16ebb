// An arena on a device: memory, flags, faults, how much of it was used; by a driver without a GPU.
#include "backend/cuda/cuda_arena.h"

#include <gtest/gtest.h>

#include <cstring>
#include <utility>
#include <vector>

#include "base/device_alignment.h"
#include "run/queue_graph.h"
#include "test/backend/fake/fake_driver.h"

namespace cleave::cuda {
namespace {

using test::FakeState;

std::unique_ptr<ArenaMemory> arena_of(int64_t bytes) {
  return value_or_throw(make_cuda_arena(test::fake_device(), bytes));
}

TEST(CudaArena, is_one_block_with_the_words_of_faults_behind_it) {
  const FakeState fake;
  const size_t blocks = fake->memory.size(), pinned = fake->pinned.size();
  const int streams = fake->streams;
  {
    const auto arena = arena_of(1000);
    EXPECT_EQ(fake->memory.size(), blocks + 1);
    EXPECT_EQ(arena->size_bytes(), 1000);
    EXPECT_EQ(fake->memory.at(arena->data()), 1024u + 32);
    EXPECT_EQ(arena->fault(), arena->data() + 1024);
    EXPECT_NE(arena->queue(), nullptr);
    const auto other = arena_of(0);
    EXPECT_EQ(other->data(), nullptr);
    EXPECT_NE(other->fault(), nullptr);
    EXPECT_NE(other->queue(), arena->queue());
    other->fill_pattern();
    EXPECT_EQ(other->touched_bytes(), 0);
    EXPECT_FALSE(other->finish());
  }
  EXPECT_EQ(fake->memory.size(), blocks);
  EXPECT_EQ(fake->pinned.size(), pinned);
  EXPECT_EQ(fake->streams, streams);
}

TEST(CudaArena, asks_for_more_than_there_is) {
  const FakeState fake;
  const int streams = fake->streams;
  const auto made = make_cuda_arena(test::fake_device(), int64_t{2} << 30);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.failure().kind, ErrorKind::user);
  EXPECT_TRUE(made.failure().message.starts_with("arena: 2147483680 bytes can't be had"));
  EXPECT_EQ(fake->streams, streams);
  EXPECT_EQ(make_cuda_arena(test::fake_device(), -1).failure().kind, ErrorKind::bug);
}

TEST(CudaArena, reads_flags_after_what_is_queued) {
  const FakeState fake;
  const auto arena = arena_of(128);
  std::memset(arena->data(), 0, 128);
  const int waits = fake->waits;
  EXPECT_FALSE(arena->flag(arena->data() + 5));
  arena->data()[5] = std::byte{1};
  EXPECT_TRUE(arena->flag(arena->data() + 5));
  EXPECT_FALSE(arena->flag(arena->data() + 4));
  EXPECT_EQ(fake->waits, waits + 3);
}

TEST(CudaArena, finds_the_highest_byte_that_was_written) {
  const FakeState fake;
  constexpr int64_t bytes = (int64_t{40} << 20) + 100;  // several copies back
  const auto arena = arena_of(bytes);
  arena->fill_pattern();
  EXPECT_EQ(arena->touched_bytes(), 0);
  for (const int64_t at : {int64_t{0}, int64_t{63}, int64_t{64}, int64_t{16} << 20,
                           (int64_t{32} << 20) - 1, bytes - 1, bytes + 20}) {
    arena->data()[at] = std::byte{1};
    EXPECT_EQ(arena->touched_bytes(), rounded_for_device(at + 1)) << at;
  }
}

TEST(CudaArena, tells_each_fault_once) {
  const FakeState fake;
  const auto arena = arena_of(64);
  EXPECT_FALSE(arena->finish());
  auto* words = static_cast<int64_t*>(arena->fault());
  words[0] = (int64_t{7} << 32) | 3;
  words[1] = -9;
  words[2] = 5;
  const std::optional<QueuedFault> fault = arena->finish();
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->thunk, 7);
  EXPECT_EQ(fault->check, 2);
  EXPECT_EQ(fault->index, -9);
  EXPECT_EQ(fault->bound, 5);
  EXPECT_FALSE(arena->finish());
}

TEST(CudaArena, runs_in_turns_find_the_fault_of_the_first_that_failed) {
  const FakeState fake;
  const auto arena = arena_of(64);
  auto* words = static_cast<int64_t*>(arena->fault());
  const int waits = fake->waits;
  arena->copy_faults(0);
  arena->mark(0);
  words[0] = (int64_t{7} << 32) | 3;  // of the second run
  words[2] = 5;
  arena->copy_faults(1);
  arena->mark(1);
  EXPECT_FALSE(arena->finish_turn(0));
  EXPECT_EQ(fake->waits, waits);  // for its mark alone
  const std::optional<QueuedFault> fault = arena->finish_turn(1);
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->thunk, 7);
  EXPECT_EQ(fault->check, 2);
  EXPECT_EQ(fault->bound, 5);
  EXPECT_EQ(fake->waits, waits + 1);  // for all, behind the failure
  EXPECT_FALSE(arena->finish());
}

TEST(CudaArena, copies_beside_calls_have_a_queue_of_their_own) {
  const FakeState fake;
  const int streams = fake->streams, events = fake->events;
  {
    const auto arena = arena_of(64);
    EXPECT_EQ(fake->streams, streams + 1);
    void* const copies = arena->copy_queue();
    EXPECT_NE(copies, arena->queue());
    EXPECT_EQ(copies, arena->copy_queue());
    EXPECT_EQ(fake->streams, streams + 2);
    const int joins = fake->joins;
    arena->join_copies();
    arena->join_copies();
    EXPECT_EQ(fake->events, events + 1);  // one, as often as they are joined
    EXPECT_EQ(fake->joins, joins + 2);
    EXPECT_EQ(fake->last_joined, arena->queue());
  }
  EXPECT_EQ(fake->streams, streams);
  EXPECT_EQ(fake->events, events);
}

// Out and in again, each way on a queue of its own, which waits for the calls before the copy, as
// those behind it wait for the copy.
TEST(CudaArena, values_lie_in_the_host_s_memory_for_a_while) {
  const FakeState fake;
  const int streams = fake->streams, events = fake->events;
  const size_t pinned = fake->pinned.size();
  {
    const auto arena = arena_of(256);
    ASSERT_TRUE(arena->reserve_host(128).ok());
    const size_t room = fake->pinned.size();
    ASSERT_TRUE(arena->reserve_host(64).ok());  // there is more
    EXPECT_EQ(fake->pinned.size(), room);
    EXPECT_EQ(fake->streams, streams + 3);
    std::byte *const x = arena->data(), *const y = arena->data() + 128;
    std::memset(x, 7, 64);
    using Marks = std::vector<std::pair<char, void*>>;
    void* const calls = arena->queue();
    fake->marks.clear();
    arena->begin_copy({.number = 0, .is_out = true, .at = x, .host_offset = 64, .bytes = 64});
    ASSERT_EQ(fake->marks.size(), 3u);
    void* const out = fake->marks[1].second;
    EXPECT_NE(out, calls);
    EXPECT_EQ(fake->marks, (Marks{{'r', calls}, {'w', out}, {'r', out}}));
    arena->end_copy(0);
    EXPECT_EQ(fake->marks.back(), std::pair('w', calls));
    std::memset(x, 0, 64);
    fake->marks.clear();
    arena->begin_copy({.number = 1, .is_out = false, .at = y, .host_offset = 64, .bytes = 64});
    ASSERT_EQ(fake->marks.size(), 3u);
    void* const in = fake->marks[1].second;
    EXPECT_NE(in, out);
    EXPECT_EQ(fake->marks, (Marks{{'r', calls}, {'w', in}, {'r', in}}));
    arena->end_copy(1);
    EXPECT_EQ(y[0], std::byte{7});
    EXPECT_EQ(y[63], std::byte{7});
    const int made = fake->events;
    arena->begin_copy({.number = 0, .is_out = true, .at = x, .host_offset = 0, .bytes = 64});
    EXPECT_EQ(fake->events, made);  // of the run before
    // A larger program of the same arena, while a graph of a smaller one still has its room.
    const std::shared_ptr<QueueGraph> graph = arena->make_graph();
    std::memset(x, 9, 64);
    ASSERT_TRUE(graph->begin({}).ok());
    arena->begin_copy({.number = 0, .is_out = true, .at = x, .host_offset = 0, .bytes = 64});
    arena->end_copy(0);
    arena->begin_copy({.number = 1, .is_out = false, .at = y, .host_offset = 0, .bytes = 64});
    arena->end_copy(1);
    ASSERT_TRUE(graph->end().ok());
    ASSERT_TRUE(arena->reserve_host(256).ok());
    EXPECT_EQ(fake->pinned.size(), room + 1);
    EXPECT_EQ(fake->streams, streams + 3);
    ASSERT_TRUE(graph->launch().ok());
    EXPECT_EQ(y[63], std::byte{9});
  }
  EXPECT_EQ(fake->streams, streams);
  EXPECT_EQ(fake->events, events);
  EXPECT_EQ(fake->pinned.size(), pinned);
}

TEST(CudaArena, notes_the_words_of_faults_in_a_graph) {
  const FakeState fake;
  const auto arena = arena_of(64);
  const std::shared_ptr<QueueGraph> graph = arena->make_graph();
  ASSERT_TRUE(graph->begin({}).ok());
  arena->copy_faults(0);
  ASSERT_TRUE(graph->end().ok());
  arena->mark(0);
  static_cast<int64_t*>(arena->fault())[0] = 1;
  for (int k = 0; k < 2; ++k) {
    ASSERT_TRUE(graph->launch().ok());
    EXPECT_EQ(arena->finish_turn(0).has_value(), k == 0);
  }
}

TEST(CudaArena, a_device_that_fails_is_a_bug) {
  const FakeState fake;
  const auto arena = arena_of(64);
  fake->failures["cuStreamSynchronize"] = 700;
  try {
    arena->finish();
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::bug);
    EXPECT_STREQ(e.what(),
                 "cuda: waiting for the queue: what the test asked for (CUDA_ERROR_OF_THE_TEST)");
  }
}

}  // namespace
}  // namespace cleave::cuda
