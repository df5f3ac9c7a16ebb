// A runner alone: programs of jumps and of the host program's code, written by hand.
// tests: thunk_storages.cpp last_read.cpp
#include "run/runner.h"

#include <gtest/gtest.h>

#include "run/archive_program.h"
#include "run/thunk_storages.h"
#include "runtime/host_arena.h"
#include "runtime/thread_pool.h"

namespace cleave {
namespace {

// while (more) { y = x + y; more = y < 10 }   of numbers in memory of their own
struct Counting {
  ThunkProgram program;
  std::vector<int64_t> offsets;
  std::vector<ForeignFunction> foreign;

  Counting() {
    program.storages = {{.name = "x", .bytes = 4, .placeholder = 0, .first = 0, .last = 2},
                        {.name = "y", .bytes = 4, .placeholder = 1, .first = 0, .last = 2},
                        {.name = "more", .bytes = 1, .first = 0, .last = 2}};
    offsets = {0, 0, 64};
    ForeignCall call{.code = {}, .operands = {0, std::nullopt, 1}, .results = {1, 2}};
    program.thunks = {{"y", call, true},
                      {"done", JumpCall{JumpCall::Flag{2, 0}, 3}},
                      {"again", JumpCall{std::nullopt, 0}}};
    program.returns = {1};
    foreign.emplace_back([](void* const* in, void* const* out) {
      ASSERT_EQ(in[1], nullptr);
      auto* y = static_cast<float*>(out[0]);
      *y = *static_cast<float*>(in[0]) + *static_cast<float*>(in[2]);
      *static_cast<bool*>(out[1]) = *y < 10;
    });
  }
  RunnableProgram runnable() const { return {program, offsets, {}, foreign}; }
};

std::shared_ptr<ArenaMemory> arena() { return value_or_throw(runtime::make_host_arena(128)); }
std::shared_ptr<Executor> threads() { return value_or_throw(runtime::start_threads(1)); }

TEST(Runner, repeats_a_loop_until_its_flag_is_false) {
  const Counting counting;
  Runner runner(counting.runnable(), arena(), threads());
  float x = 3, y = 0;
  ASSERT_NE(runner.find_unbound(), nullptr);
  EXPECT_EQ(runner.find_unbound()->name, "x");
  runner.bind(0, &x);
  runner.bind(1, &y);
  EXPECT_EQ(runner.find_unbound(), nullptr);
  EXPECT_FALSE(runner.run());
  EXPECT_EQ(y, 12);
  EXPECT_EQ(runner.result(0), reinterpret_cast<std::byte*>(&y));
}

TEST(Runner, gives_a_placeholder_up_behind_the_loop_that_reads_it) {
  const Counting counting;
  EXPECT_EQ(loops_of(counting.program).size(), 1u);
  Runner runner(counting.runnable(), arena(), threads());
  float x = 5, y = 0;
  runner.bind(0, &x);
  runner.bind(1, &y);
  std::vector<std::pair<size_t, float>> asked;
  const Runner::Release release = [&](size_t k) {
    asked.emplace_back(k, y);
    return true;
  };
  EXPECT_FALSE(runner.run(&release));
  EXPECT_EQ(asked, (std::vector<std::pair<size_t, float>>{{0, 10.f}}));  // y is returned
  EXPECT_EQ(runner.bound(0), nullptr);
}

// A device whose calls run later: that a check failed is told when the queue is waited for.
struct QueuedArena final : ArenaMemory {
  std::byte* data() const override { return memory; }
  int64_t size_bytes() const override { return 128; }
  bool flag(const std::byte* at) const override { return *at != std::byte{0}; }
  void fill_pattern() override {}
  int64_t touched_bytes() const override { return 0; }
  void* queue() const override { return const_cast<QueuedArena*>(this); }
  void* fault() const override { return const_cast<QueuedArena*>(this); }
  std::optional<QueuedFault> finish() override {
    ++waits;
    return std::exchange(failed, std::nullopt);
  }
  alignas(64) mutable std::byte memory[128] = {};
  std::optional<QueuedFault> failed;
  int waits = 0;
};

struct QueuedKernel final : KernelFunction {
  std::optional<Fault> call(void* const*, const int64_t*, const RunContext& c) const override {
    EXPECT_EQ(c.queue, c.fault);
    static_cast<QueuedArena*>(c.fault)->failed = {
        .thunk = c.thunk, .check = 1, .index = 7, .bound = 4};
    return {};
  }
  Fault fault_of(const QueuedFault& f) const override { return cleave::fault_of(checks, f); }
  std::vector<CheckText> checks = {{"first"}, {"second", true}};
};

TEST(Runner, a_check_that_failed_on_a_queue_is_found_at_the_end_or_at_a_jump) {
  Counting counting;
  std::vector<std::unique_ptr<const KernelFunction>> kernels(2);
  kernels[1] = std::make_unique<QueuedKernel>();
  const auto expect_failure = [&](int waits) {
    const auto arena = std::make_shared<QueuedArena>();
    Runner runner({counting.program, counting.offsets, kernels, counting.foreign}, arena,
                  threads());
    float x = 3, y = 0;
    runner.bind(0, &x);
    runner.bind(1, &y);
    const std::optional<FailedThunk> failed = runner.run();
    ASSERT_TRUE(failed);
    EXPECT_EQ(counting.program.thunks[failed->thunk].name, "checked");
    EXPECT_EQ(failed->fault.message, "second");
    EXPECT_TRUE(failed->fault.from_zero);
    EXPECT_EQ(failed->fault.index, 7);
    EXPECT_EQ(failed->fault.bound, 4);
    EXPECT_EQ(arena->waits, waits);
  };
  counting.program.thunks.push_back({"checked", KernelCall{.kernel = 1}});
  expect_failure(5);  // 4 turns, then the end
  std::swap(counting.program.thunks[0], counting.program.thunks[3]);
  expect_failure(1);  // before the flag is read, which nothing has written
}

TEST(Runner, a_program_is_the_same_after_it_was_written_and_read) {
  Counting counting;
  ArchiveWriter out;
  out(counting.program);
  ThunkProgram again;
  ArchiveReader in(std::as_bytes(std::span(out.bytes())));
  in(again);
  ASSERT_TRUE(in.is_complete());
  counting.program = std::move(again);
  Runner runner(counting.runnable(), arena(), threads());
  float x = 4, y = 1;
  runner.bind(0, &x);
  runner.bind(1, &y);
  EXPECT_FALSE(runner.run());
  EXPECT_EQ(y, 13);
}

// y = x + 1, of numbers. Counts how it is called.
struct AddOne final : LibraryFunction {
  int64_t scratch_bytes() const override { return 64; }
  bool can_join() const override { return true; }
  void call(void* const* at, void* scratch, const RunContext&) const override {
    ++calls;
    *static_cast<float*>(scratch) = *static_cast<float*>(at[GemmOperand::a]) + 1;
    *static_cast<float*>(at[GemmOperand::c]) = *static_cast<float*>(scratch);
  }
  void call_joined(std::span<const LibraryRun> runs, const RunContext& context) const override {
    ++jobs;
    LibraryFunction::call_joined(runs, context);
  }
  mutable int calls = 0, jobs = 0;
};

// a = x + 1, b = y + 1 as one job, then y = b + 1; again while y is below 9.
struct Joining {
  ThunkProgram program;
  std::vector<int64_t> offsets = {0, 0, 0, 64, 128, 192, 256};
  std::vector<ForeignFunction> foreign;
  std::shared_ptr<AddOne> function = std::make_shared<AddOne>();

  Joining() {
    program.storages = {{.name = "x", .bytes = 4, .placeholder = 0},
                        {.name = "y", .bytes = 4, .placeholder = 1},
                        {.name = "a", .bytes = 4},
                        {.name = "b", .bytes = 4},
                        {.name = "a.scratch", .bytes = 64, .workspace = true},
                        {.name = "b.scratch", .bytes = 64, .workspace = true},
                        {.name = "more", .bytes = 1}};
    ForeignCall less{.code = {}, .operands = {1}, .results = {6}};
    program.thunks = {{"a", call(0, 2, 4)},
                      {"b", call(1, 3, 5)},
                      {"y", call(3, 1, 5)},
                      {"less", less, true},
                      {"done", JumpCall{JumpCall::Flag{6, 0}, 6}},
                      {"again", JumpCall{std::nullopt, 0}}};
    program.returns = {2};
    program.joined = {{0, 2}};
    foreign.emplace_back([](void* const* in, void* const* out) {
      *static_cast<bool*>(out[0]) = *static_cast<float*>(in[0]) < 9;
    });
  }
  LibraryCall call(size_t from, size_t to, size_t workspace) const {
    LibraryCall out;
    out.operands = {{GemmOperand::a, from, LibraryAccess::read, DType::f32, {}},
                    {GemmOperand::c, to, LibraryAccess::write, DType::f32, {}}};
    out.function = function;
    out.workspace = workspace;
    return out;
  }
};

TEST(Runner, runs_joined_calls_as_one_job) {
  for (const bool is_timed : {false, true}) {
    Joining joining;
    Runner runner({joining.program, joining.offsets, {}, joining.foreign},
                  value_or_throw(runtime::make_host_arena(320)), threads());
    runner.time_thunks(is_timed);
    float x = 5, y = 4;
    runner.bind(0, &x);
    runner.bind(1, &y);
    ASSERT_FALSE(runner.run());
    EXPECT_EQ(y, 10);  // after 3 turns
    EXPECT_EQ(*reinterpret_cast<const float*>(runner.result(0)), 6);
    EXPECT_EQ(joining.function->calls, 9);
    // Each has a time of its own.
    EXPECT_EQ(joining.function->jobs, is_timed ? 0 : 3);
    if (is_timed) { EXPECT_GT(runner.times()[1].sum, 0); }
  }
}

TEST(Runner, jobs_are_kept_with_a_program) {
  ArchiveWriter out;
  out(Joining().program);
  ThunkProgram again;
  ArchiveReader in(std::as_bytes(std::span(out.bytes())));
  in(again);
  ASSERT_TRUE(in.is_complete());
  ASSERT_EQ(again.joined.size(), 1u);
  EXPECT_EQ(again.joined[0].begin, 0u);
  EXPECT_EQ(again.joined[0].end, 2u);
}

}  // namespace
}  // namespace cleave
