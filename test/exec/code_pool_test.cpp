// Programs that take the functions of their kernels from one pool.
// tests: compile/code_pool.cpp sample_kernels.cpp
#include "compile/code_pool.h"

#include <gtest/gtest.h>

#include "cache/memory_cache.h"
#include "cleave/cleave.h"
#include "compile/stages.h"
#include "test/random_inputs.h"
#include "test/sample/run_program.h"

namespace cleave {
namespace {

using test::core;
using test::parsed;

std::string rows(int64_t n, const std::string& call = "tanh") {
  return fmt::format(
      "graph @main(%x: input f32[{0},40]) {{\n  %y = {1}(%x)\n  %s = sum(%y; dim=[0])\n"
      "  %d = sub(%y, %s)\n  %e = cos(%x)\n  return %d, %e\n}}\n",
      n, call);
}

struct Pooled {
  Pooled() {
    options.executor = make_thread_pool(2);
    options.pool =
        std::make_shared<CodePool>(backend_for(options), [this](CodePool&, CodePool::When when) {
          calls += when == CodePool::When::first ? "first " : "missed ";
        });
  }
  std::shared_ptr<const CompiledProgram> program(const std::string& text) {
    return value_or_throw(CompiledProgram::compile(parsed(text), core(), options));
  }
  // Whether it computes the bits of the graph alone.
  void expect_right(const std::shared_ptr<const CompiledProgram>& p, const std::string& text) {
    const Arrays in = {test::random_inputs(p->graph()).at("x")};
    StageOptions alone = options;
    alone.pool = nullptr;
    alone.cache = nullptr;
    const auto q = value_or_throw(CompiledProgram::compile(parsed(text), core(), alone));
    EXPECT_EQ(value_or_throw(law::run_program(p, in, 2)),
              value_or_throw(law::run_program(q, in, 2)))
        << text;
  }
  StageOptions options;
  std::string calls;
};

TEST(CodePool, a_miss_is_told_and_learned) {
  Pooled pool;
  const auto first = pool.program(rows(87));  // sizes grow: no elements may be left out
  EXPECT_EQ(pool.calls, "first ");
  EXPECT_EQ(first->report().recompiled, "");
  const auto second = pool.program(rows(90));
  EXPECT_EQ(pool.calls, "first missed ");
  EXPECT_TRUE(second->report().recompiled.starts_with("kernel %")) << second->report().recompiled;
  const auto third = pool.program(rows(94));  // 87 and 90 have shown what it depends on
  EXPECT_EQ(third->report().recompiled, "");
  EXPECT_EQ(pool.calls, "first missed ");
  // The first one's function was replaced, and it keeps it.
  pool.expect_right(first, rows(87));
  pool.expect_right(second, rows(90));
  pool.expect_right(third, rows(94));
}

TEST(CodePool, other_graphs_take_what_they_can) {
  Pooled pool;
  pool.program(rows(100));
  pool.program(rows(90));
  const auto other = pool.program(rows(70, "exp"));
  EXPECT_NE(other->report().recompiled, "");
  pool.expect_right(other, rows(70, "exp"));
  pool.expect_right(pool.program(rows(60)), rows(60));
}

TEST(CodePool, a_program_from_a_cache_asks_for_no_samples) {
  const std::shared_ptr<Cache> cache = Cache::memory(1 << 20);
  for (const char* found : {"miss", "hit"}) {
    Pooled pool;
    pool.options.cache = cache;
    for (const int64_t n : {100, 90}) {
      const auto p = pool.program(rows(n));
      EXPECT_EQ(p->report().cache, found) << n;
      pool.expect_right(p, rows(n));
    }
    EXPECT_EQ(pool.calls, found == std::string("hit") ? "" : "first missed ");
  }
  // Alone it is another program: its functions are.
  StageOptions alone;
  alone.executor = make_thread_pool(2);
  alone.cache = cache;
  const auto p = value_or_throw(CompiledProgram::compile(parsed(rows(100)), core(), alone));
  EXPECT_EQ(p->report().cache, "miss");
}

TEST(CodePool, stays_empty_where_kernels_are_interpreted) {
  Pooled pool;
  pool.options.compiler = CompilerChoice::none;
  pool.options.pool = std::make_shared<CodePool>(backend_for(pool.options), nullptr);
  pool.expect_right(pool.program(rows(100)), rows(100));
  EXPECT_EQ(pool.options.pool->last_miss(), "");
}

// A failure at a sample is that of the run with its sizes.
TEST(SampleKernels, samples_that_fail_are_left_out) {
  CompiledFunction f = compile(
      [](const Tensor& x) {
        if (x.numel() == 2) throw std::runtime_error("two");
        return x.numel() == 1 ? reshape(x, {3}) : tanh(x) * 2.0;
      },
      {{"x", DType::f32, {dyn("N", 1, 300)}}});
  Generator rng(3);
  EXPECT_EQ(f.run({rng.normal({299})})[0].numel(), 299);
  EXPECT_EQ(f.report().recompiled, "");
  EXPECT_THROW(f.run({rng.normal({2})}), std::runtime_error);
  EXPECT_THROW(f.run({rng.normal({1})}), Error);
  EXPECT_EQ(f.run({rng.normal({7})})[0].numel(), 7);
}

// They are nobody's to see.
TEST(SampleKernels, are_neither_dumped_nor_observed) {
  struct Counting : CompileObserver {
    int lowered = 0;
    void after(std::string_view stage, const StageText&) override { lowered += stage == "lower"; }
  };
  const auto observer = std::make_shared<Counting>();
  CompiledFunction f = compile([](const Tensor& x) { return tanh(x) * 2.0; },
                               {{"x", DType::f32, {dyn("N", 1, 300)}}}, {.observers = {observer}});
  EXPECT_EQ(observer->lowered, 1);
}

}  // namespace
}  // namespace cleave
