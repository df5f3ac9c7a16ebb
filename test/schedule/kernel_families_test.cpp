// Functions learned from some kernels, and which others they compute.
#include "schedule/kernel_families.h"

#include <gtest/gtest.h>

#include "loop/parse.h"
#include "schedule/schedule.h"

namespace cleave::schedule {
namespace {

// Rows of n numbers in m rows, added to a column of k.
loop::Kernel rows(int64_t m, int64_t n, int64_t k) {
  const std::string text = fmt::format(
      "kernel %y(%x: f32[{0}] read, %y: f32[{0}] write) {{\n  for p in {1} parallel {{\n"
      "    for r in {2} independent {{\n      %y[p*{2} + r] = %x[p*{2} + r] + %x[p*{3}]\n    }}\n"
      "  }}\n}}\n",
      m * std::max(n, k), m, n, k);
  return schedule(value_or_throw(loop::parse_kernel(text, "t")));
}

std::string scalars(const std::optional<KernelFamilies::Use>& use) {
  return use ? fmt::format("{}", fmt::join(use->scalars, ",")) : "none";
}

TEST(KernelFamilies, one_kernel_is_found_as_it_is) {
  KernelFamilies all;
  all.add(rows(64, 256, 320));
  EXPECT_EQ(all.function(0).scalars.size(), 0u);
  EXPECT_EQ(scalars(all.find(rows(64, 256, 320))), "");
  EXPECT_EQ(scalars(all.find(rows(48, 256, 320))), "");  // an extent is an argument of each call
  EXPECT_EQ(scalars(all.find(rows(64, 512, 320))), "none");
}

TEST(KernelFamilies, what_has_varied_may_vary) {
  KernelFamilies all;
  all.add(rows(64, 256, 320));
  all.add(rows(64, 512, 320));
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all.function(0).scalars.size(), 1u);
  EXPECT_EQ(scalars(all.find(rows(64, 256, 320))), "256");
  EXPECT_EQ(scalars(all.find(rows(64, 1024, 320))), "1024");
  EXPECT_EQ(scalars(all.find(rows(64, 1024, 640))), "none");  // a constant of the function
  EXPECT_TRUE(verify(all.function(0)).ok());
}

// Numbers that were equal wherever the function was learned must be equal where it is used.
TEST(KernelFamilies, what_was_equal_must_be_equal) {
  KernelFamilies all;
  all.add(rows(64, 256, 256));
  all.add(rows(64, 512, 512));
  EXPECT_EQ(scalars(all.find(rows(64, 1024, 1024))), "1024");
  EXPECT_EQ(scalars(all.find(rows(64, 1024, 512))), "none");
  all.add(rows(64, 1024, 512));
  EXPECT_EQ(scalars(all.find(rows(64, 768, 320))), "768,320");
  EXPECT_EQ(scalars(all.find(rows(64, 256, 256))), "256,256");
}

TEST(KernelFamilies, other_code_is_another_family) {
  KernelFamilies all;
  all.add(rows(64, 256, 320));
  all.add(rows(64, 512, 320));
  EXPECT_EQ(scalars(all.find(rows(64, 250, 320))), "none");  // a last vector that is partial
  const KernelFamilies::Member tail = all.add(rows(64, 250, 320));
  EXPECT_EQ(tail.family, 1u);
  EXPECT_EQ(all.use_of(tail).scalars.size(), 0u);
}

}  // namespace
}  // namespace cleave::schedule
