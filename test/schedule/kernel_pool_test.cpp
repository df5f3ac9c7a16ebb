// The functions that programs of several sizes share.
#include "schedule/kernel_pool.h"

#include <gtest/gtest.h>

#include "loop/parse.h"
#include "schedule/schedule.h"

namespace cleave::schedule {
namespace {

// m rows of n numbers, of which every k-th begins a group.
loop::Kernel grouped(const std::string& name, int64_t m, int64_t n, int64_t k) {
  const std::string text = fmt::format(
      "kernel %{0}(%x: f32[{1}] read, %y: f32[{1}] write) {{\n  for p in {2} parallel {{\n"
      "    for r in {3} independent {{\n      %y[p*{3} + r] = %x[truncdiv(p, {4})*{3} + r]\n    "
      "}}\n"
      "  }}\n}}\n",
      name, m * n, m, n, k);
  return schedule(value_or_throw(loop::parse_kernel(text, "t")));
}

using Kernels = std::vector<loop::Kernel>;

TEST(KernelPool, divisors_and_small_extents_vary_with_the_sizes) {
  KernelPool pool;
  EXPECT_EQ(pool.learn(Kernels{grouped("a", 12, 64, 6)}), 1u);
  EXPECT_FALSE(pool.find(grouped("a", 10, 64, 5)));
  EXPECT_EQ(pool.why_not(grouped("a", 10, 64, 5)), "its number 2 is 5, expected 6");
  EXPECT_EQ(pool.learn(Kernels{grouped("a", 10, 64, 5)}), 1u);
  EXPECT_EQ(pool.size(), 1u);
  const auto use = pool.find(grouped("a", 99, 64, 7));
  ASSERT_TRUE(use);
  EXPECT_EQ(use->scalars, (std::vector<int64_t>{7}));
  EXPECT_EQ(pool.function(0).scalars.size(), 1u);
  EXPECT_TRUE(loop::verify(pool.function(0)).ok());
}

// What didn't vary in the first program stays a constant.
TEST(KernelPool, kernels_that_were_two_functions_stay_two) {
  KernelPool pool;
  pool.learn(Kernels{grouped("a", 12, 64, 6), grouped("b", 12, 64, 3)});
  ASSERT_EQ(pool.size(), 2u);
  EXPECT_EQ(pool.learn(Kernels{grouped("a", 10, 64, 6), grouped("b", 10, 64, 3)}), 0u);
  EXPECT_EQ(pool.function(0).scalars.size(), 0u);
  // Each takes the function of its name, and what they vary in is that one's alone.
  pool.learn(Kernels{grouped("b", 10, 64, 5)});
  ASSERT_EQ(pool.size(), 2u);
  EXPECT_EQ(pool.function(0).scalars.size(), 0u);
  EXPECT_EQ(pool.function(1).scalars.size(), 1u);
  EXPECT_EQ(pool.find(grouped("a", 10, 64, 6))->family, 0u);
  EXPECT_EQ(pool.find(grouped("a", 10, 64, 9))->family, 1u);  // that computes it as well
}

TEST(KernelPool, another_name_takes_what_computes_it) {
  KernelPool pool;
  pool.learn(Kernels{grouped("a", 12, 64, 6)});
  EXPECT_TRUE(pool.find(grouped("c", 8, 64, 6)));
  EXPECT_EQ(pool.learn(Kernels{grouped("c", 8, 64, 4)}), 1u);
  EXPECT_EQ(pool.size(), 1u);
}

TEST(KernelPool, other_loops_are_another_function) {
  KernelPool pool;
  pool.learn(Kernels{grouped("a", 12, 64, 6)});
  EXPECT_EQ(pool.why_not(grouped("a", 12, 50, 6)), "no function has its loops");  // with a tail
  EXPECT_EQ(pool.learn(Kernels{grouped("a", 12, 50, 6)}), 1u);
  EXPECT_EQ(pool.size(), 2u);
  EXPECT_EQ(pool.why_not(grouped("a", 12, 64, 6)), "");
}

}  // namespace
}  // namespace cleave::schedule
