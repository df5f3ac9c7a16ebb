// What a simulation finds, each beside the kernel that is right.
#include "simt/simulate.h"

#include <gtest/gtest.h>

#include "test/simt/threads.h"

namespace cleave::simt {
namespace {

using loop::binary;
using loop::constant;
using loop::constant_int;
using loop::load;
using loop::make_var;
using loop::Op;
using testing::Test;

const auto no_defects = std::vector<std::string>();

// One phase of blocks of 64 threads over %x and %y of 128 numbers, and %s, which a block shares.
class SimulateThreads : public Test {
 protected:
  enum : int64_t { x, y, s, own };
  SimulateThreads() {
    for (size_t b = 0; b < 128; ++b) x_memory[b] = static_cast<float>(b);
    kernel.name = "k";
    add("x", DType::f32, 128, loop::Access::read);
    add("y", DType::f32, 128, loop::Access::write);
    add("s", DType::f32, 64, loop::Access::local, Space::shared);
    add("t", DType::f32, 4, loop::Access::local, Space::thread);
  }
  void add(const char* name, DType type, int64_t elements, loop::Access access,
           Space space = Space::global) {
    Buffer b;
    b.name = name, b.dtype = type, b.elements = elements, b.access = access, b.space = space;
    kernel.buffers.push_back(b);
  }
  Simulation run(Block body, int64_t blocks = 1, int threads = 64) {
    kernel.phases = {{blocks, threads, block, thread, std::move(body)}};
    return run();
  }
  Simulation run() {
    void* const buffers[] = {x_memory, y_memory};
    return simulate(kernel, buffers, {});
  }
  std::vector<std::string> found(Block body, int64_t blocks = 1, int threads = 64) {
    return run(std::move(body), blocks, threads).defects;
  }
  static Expr f32(double v) { return constant(DType::f32, v); }
  static Expr less(const Expr& a, int64_t b) { return binary(Op::lt, a, Expr(b)); }
  static Expr remainder(const Expr& a, int64_t b) { return binary(Op::truncmod, a, Expr(b)); }
  Store store_y(const Expr& index, const Expr& value) const { return {y, index, value}; }

  alignas(16) float x_memory[128] = {};
  alignas(16) float y_memory[128] = {};
  Kernel kernel;
  const Expr block = make_var(0, "block", DType::i64), thread = make_var(1, "thread", DType::i64),
             v = make_var(2, "v", DType::f32), k = make_var(3, "k", DType::i64);
};

TEST_F(SimulateThreads, runs_each_thread_of_each_block) {
  const Expr at = block * Expr(64) + thread;
  EXPECT_EQ(found({{store_y(at, load(x, DType::f32, at) + f32(1))}}, 2), no_defects);
  for (size_t i = 0; i < 128; ++i) EXPECT_EQ(y_memory[i], static_cast<float>(i) + 1);
}

TEST_F(SimulateThreads, a_barrier_that_is_missing) {
  const Stmt writes = {Store{s, thread, load(x, DType::f32, thread)}};
  const Stmt reads = {store_y(thread, load(s, DType::f32, remainder(thread + Expr(1), 64)))};
  EXPECT_EQ(found({writes, {Barrier{64}}, reads}), no_defects);
  EXPECT_EQ(y_memory[63], 0);
  EXPECT_EQ(y_memory[0], 1);
  EXPECT_EQ(found({writes, reads})[0], "k: %s[1]: threads 1 of block 0 and 0 of block 0 race");
  // One of warps alone: thread 31 reads what the next warp writes.
  EXPECT_EQ(found({writes, {Barrier{32}}, reads})[0],
            "k: %s[32]: threads 32 of block 0 and 31 of block 0 race");
}

TEST_F(SimulateThreads, a_write_after_other_threads_have_read) {
  const Stmt first = {Store{s, thread, f32(1)}};
  const Stmt reads = {Let{v, load(s, DType::f32, remainder(thread + Expr(1), 64))}};
  const Stmt again = {Store{s, thread, v}};
  EXPECT_EQ(found({first, {Barrier{64}}, reads, {Barrier{64}}, again}), no_defects);
  EXPECT_EQ(found({first, {Barrier{64}}, reads, again})[0],
            "k: %s[0]: threads 63 of block 0 and 0 of block 0 race");
}

TEST_F(SimulateThreads, two_blocks_that_write_one_element) {
  EXPECT_EQ(found({{store_y(thread, f32(1))}}, 2)[0],
            "k: %y[0]: threads 0 of block 0 and 0 of block 1 race");
  EXPECT_EQ(found({{store_y(block * Expr(64) + thread, f32(1))}}, 2), no_defects);
  // What a block shares is another one in each.
  EXPECT_EQ(found({{Store{s, thread, f32(1)}}}, 2), no_defects);
}

TEST_F(SimulateThreads, two_phases_come_one_after_the_other) {
  const Phase writes{2, 64, block, thread, {{store_y(block * Expr(64) + thread, f32(1))}}};
  const Phase reads{1, 64, block, thread, {{Let{v, load(y, DType::f32, thread + Expr(64))}}}};
  kernel.phases = {writes, reads};
  EXPECT_EQ(run().defects, no_defects);
  Phase both = writes;
  both.body.push_back({Let{v, load(y, DType::f32, thread)}});
  kernel.phases = {both, reads};
  EXPECT_EQ(run().defects,
            std::vector<std::string>{"k: %y[0]: threads 0 of block 0 and 0 of block 1 race"});
}

TEST_F(SimulateThreads, an_index_out_of_bounds) {
  EXPECT_EQ(found({{store_y(thread + Expr(64), f32(1))}}), no_defects);
  EXPECT_EQ(found({{store_y(thread + Expr(65), f32(1))}})[0],
            "k: %y[128] is out of bounds, the buffer has 128 elements");
  EXPECT_EQ(found({{Let{v, load(x, DType::f32, thread - Expr(1))}}})[0],
            "k: %x[-1] is out of bounds, the buffer has 128 elements");
  EXPECT_EQ(found({{Store{s, thread + Expr(1), f32(1)}}})[0],
            "k: %s[64] is out of bounds, the buffer has 64 elements");
  EXPECT_EQ(found({{Store{own, Expr(4), f32(1)}}})[0],
            "k: %t[4] is out of bounds, the buffer has 4 elements");
}

TEST_F(SimulateThreads, an_arm_that_is_not_taken_is_not_read) {
  const auto shifted = [&](int64_t limit) {
    return Stmt{store_y(
        thread, select(less(thread, limit), load(x, DType::f32, thread + Expr(100)), f32(0)))};
  };
  EXPECT_EQ(found({shifted(28)}), no_defects);
  EXPECT_EQ(found({shifted(29)})[0], "k: %x[128] is out of bounds, the buffer has 128 elements");
}

TEST_F(SimulateThreads, a_wide_access_that_is_not_aligned) {
  const auto copies = [&](const Expr& from, const Expr& to) {
    return found({{CopyIn{own, x, from, 0, 4}}, {CopyOut{y, own, to, 0, 4}}}, 1, 16);
  };
  const Expr four = thread * Expr(4);
  EXPECT_EQ(copies(four, four + Expr(64)), no_defects);
  EXPECT_EQ(y_memory[64 + 63], 63);
  EXPECT_EQ(copies(four + Expr(2), four)[0], "k: %x[2]: 16 bytes at once aren't aligned");
  EXPECT_EQ(copies(four, four + Expr(1))[0], "k: %y[1]: 16 bytes at once aren't aligned");
  EXPECT_EQ(copies(four + Expr(68), four)[0],
            "k: %x[128] is out of bounds, the buffer has 128 elements");
}

// What is copied ahead is there behind the thread's own wait, and races as any other write.
TEST_F(SimulateThreads, copies_ahead) {
  const Expr four = thread * Expr(4);
  const auto copies = [&](const Expr& at, const Expr& from, Block rest) {
    rest.insert(rest.begin(), {CopyAhead{s, x, at, from, 4}});
    return found(rest, 1, 16);
  };
  const Block read = {{CopyWait{}}, {CopyIn{own, s, four, 0, 4}}, {CopyOut{y, own, four, 0, 4}}};
  EXPECT_EQ(copies(four, four + Expr(64), read), no_defects);
  EXPECT_EQ(y_memory[63], 127);
  EXPECT_EQ(copies(four, four, {read[1]})[0], "k: %s[0] is read before it is written");
  EXPECT_EQ(copies(four, four + Expr(2), read)[0], "k: %x[2]: 16 bytes ahead aren't aligned");
  EXPECT_EQ(copies(four + Expr(2), four, read)[0], "k: %x[0]: 16 bytes ahead aren't aligned");
  EXPECT_EQ(copies(four, four + Expr(68), read)[0],
            "k: %x[128] is out of bounds, the buffer has 128 elements");
  EXPECT_EQ(copies(Expr(0), four, read)[0], "k: %s[0]: threads 0 of block 0 and 1 of block 0 race");
}

TEST_F(SimulateThreads, a_barrier_that_half_of_a_team_reaches) {
  const auto waits = [&](int64_t threads, int width) {
    return found({{If{less(thread, threads), {{Barrier{width}}}, {}}}});
  };
  EXPECT_EQ(waits(64, 64), no_defects);
  EXPECT_EQ(waits(32, 64)[0], "k: a barrier of 64 threads is reached by 32 of the 64 of a team");
  EXPECT_EQ(waits(32, 32), no_defects);
  EXPECT_EQ(waits(0, 64), no_defects);
  EXPECT_EQ(waits(8, 16)[0], "k: a barrier of 16 threads is reached by 8 of the 16 of a team");
}

TEST_F(SimulateThreads, a_barrier_in_a_loop_that_threads_leave) {
  const auto waits = [&](const Expr& end) {
    return found({{For{.var = k, .begin = Expr(0), .end = end, .body = {{Barrier{64}}}}}});
  };
  EXPECT_EQ(waits(Expr(3)), no_defects);
  EXPECT_EQ(waits(remainder(thread, 2) + Expr(1))[0],
            "k: a barrier of 64 threads is reached by 32 of the 64 of a team");
}

TEST_F(SimulateThreads, exchanges) {
  const Expr other = make_var(4, "other", DType::f32);
  const Stmt reads = {Let{v, load(x, DType::f32, thread)}};
  const auto exchange = [&](int distance, int width) {
    return Block{reads, {Exchange{other, v, distance, width}}, {store_y(thread, other)}};
  };
  EXPECT_EQ(found(exchange(16, 32)), no_defects);
  EXPECT_EQ(y_memory[0], 16);
  EXPECT_EQ(y_memory[63], 47);
  EXPECT_EQ(found(exchange(1, 2)), no_defects);
  EXPECT_EQ(y_memory[6], 7);
  EXPECT_EQ(found({reads, {If{less(thread, 48), {{Exchange{other, v, 1, 32}}}, {}}}})[0],
            "k: an exchange of 32 threads is reached by 16 of the 32 of a team");
  EXPECT_EQ(found({reads, {If{less(thread, 32), {{Exchange{other, v, 1, 32}}}, {}}}}), no_defects);
}

TEST_F(SimulateThreads, what_is_read_before_it_is_written) {
  const Stmt reads_shared = {store_y(thread, load(s, DType::f32, thread))};
  EXPECT_EQ(found({{Store{s, thread, f32(1)}}, reads_shared}), no_defects);
  EXPECT_EQ(found({reads_shared})[0], "k: %s[0] is read before it is written");
  const Stmt reads_own = {store_y(thread, load(own, DType::f32, Expr(2)))};
  EXPECT_EQ(found({{Store{own, Expr(2), f32(1)}}, reads_own}), no_defects);
  EXPECT_EQ(found({{Store{own, Expr(1), f32(1)}}, reads_own})[0],
            "k: %t[2] is read before it is written");
  EXPECT_EQ(found({{store_y(thread, v)}})[0], "k: v is read before it is defined");
}

TEST_F(SimulateThreads, memory_of_a_block_begins_anew) {
  const Stmt writes = {If{less(block, 1), {{Store{s, thread, f32(1)}}}, {}}};
  const Stmt reads = {store_y(block * Expr(64) + thread, load(s, DType::f32, thread))};
  EXPECT_EQ(found({writes, reads}, 1), no_defects);
  EXPECT_EQ(found({writes, reads}, 2)[0], "k: %s[0] is read before it is written");
}

TEST_F(SimulateThreads, each_thread_has_its_own_memory) {
  EXPECT_EQ(found({{Store{own, Expr(0), load(x, DType::f32, thread)}},
                   {store_y(thread, load(own, DType::f32, Expr(0)))}}),
            no_defects);
  EXPECT_EQ(y_memory[5], 5);
}

TEST_F(SimulateThreads, a_variable_that_a_scope_declares_twice) {
  const Stmt once{Let{v, f32(1)}}, stored{store_y(thread, v)};
  const For inside{.var = k, .begin = Expr(0), .end = Expr(2), .body = {once, stored}};
  EXPECT_EQ(found({once, stored, {inside}}), no_defects);
  EXPECT_EQ(found({once, once, stored}),
            std::vector<std::string>{"k: v is declared twice in one scope"});
  For twice = inside;
  twice.body.insert(twice.body.begin(), once);
  EXPECT_EQ(found({once, stored, {twice}}),
            std::vector<std::string>{"k: v is declared twice in one scope"});
  EXPECT_EQ(found({{If{less(thread, 9), {once, once}, {}}}}).size(), 1u);
  EXPECT_EQ(found({{If{less(thread, 9), {}, {once, once}}}}).size(), 1u);
}

TEST_F(SimulateThreads, the_first_check_that_fails) {
  const Stmt passes = {Check{less(thread, 64), thread, Expr(64), "a"}};
  const Stmt fails = {Check{less(thread, 40), thread, Expr(40), "b"}};
  EXPECT_FALSE(run({passes}).fault);
  kernel.phases = {{1, 64, block, thread, {passes}},
                   {1, 64, block, thread, {passes, fails, {store_y(thread, f32(9))}}}};
  const Simulation failed = run();
  EXPECT_EQ(failed.defects, no_defects);
  ASSERT_TRUE(failed.fault);
  EXPECT_EQ(failed.fault->check, 2u);
  EXPECT_EQ(failed.fault->value, 40);
  EXPECT_EQ(failed.fault->bound, 40);
  EXPECT_EQ(y_memory[0], 0);  // nothing is written behind it
}

TEST_F(SimulateThreads, the_first_defect_of_each_phase_is_told) {
  const Phase wrong{
      2, 64, block, thread, {{store_y(thread, f32(1))}, {store_y(Expr(500), f32(1))}}};
  kernel.phases = {wrong, wrong};
  EXPECT_EQ(run().defects.size(), 2u);
}

}  // namespace
}  // namespace cleave::simt
