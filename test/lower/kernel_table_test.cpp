// Equal kernels are one.
#include "lower/kernel_table.h"

#include <gtest/gtest.h>

#include "loop/parse.h"

namespace cleave {
namespace {

loop::Kernel double_of(const std::string& x, const std::string& y, const std::string& factor) {
  return value_or_throw(loop::parse_kernel(
      fmt::format("kernel %{1}(%{0}: f32[8] read, %{1}: f32[8] write) work 16 {{\n"
                  "  for i in 8 parallel {{\n    %{1}[i] = %{0}[i] * {2}\n  }}\n}}\n",
                  x, y, factor),
      "double.loops"));
}

TEST(KernelTable, names_and_work_make_no_difference) {
  KernelTable table;
  EXPECT_EQ(table.add(double_of("x", "y", "2.0")), 0u);
  loop::Kernel other = double_of("a", "b", "2.0");
  other.work = 99;
  EXPECT_EQ(table.add(std::move(other)), 0u);
  EXPECT_EQ(table.add(double_of("x", "y", "3.0")), 1u);
  const std::vector<loop::Kernel> kernels = std::move(table).take();
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].name, "y");
  EXPECT_EQ(kernels[0].work, 16);
}

TEST(KernelTable, groups_by_key) {
  KernelTable table;
  EXPECT_EQ(table.find_group("key"), nullptr);
  const LoweredGroup& added = table.add_group("key", {.kernel = 7});
  ASSERT_EQ(table.find_group("key"), &added);
  EXPECT_EQ(table.find_group("key")->kernel, 7u);
  EXPECT_EQ(table.find_group("other"), nullptr);
}

}  // namespace
}  // namespace cleave
