#include "standalone/strided_copy.h"

#include <gtest/gtest.h>

#include <array>
#include <numeric>

namespace cleave::standalone {
namespace {

TEST(StridedCopy, by_the_strides_of_both_and_nothing_between) {
  const std::array<int64_t, 2> shape = {2, 3}, columns = {1, 2}, gaps = {5, 1};
  std::array<int32_t, 6> from{};
  std::iota(from.begin(), from.end(), 1);
  std::array<int32_t, 8> to{};
  copy_strided({to.data(), gaps}, {from.data(), columns}, shape, DType::i32);
  EXPECT_EQ(to, (std::array<int32_t, 8>{1, 3, 5, 0, 0, 2, 4, 6}));
  EXPECT_FALSE(is_dense(shape, gaps));
  EXPECT_TRUE(is_dense(std::array<int64_t, 2>{1, 3}, gaps));
}

TEST(StridedCopy, tensors_without_elements_or_dims) {
  const std::array<int64_t, 2> empty = {0, 3}, any = {9, 9};
  copy_strided({nullptr, any}, {nullptr, any}, empty, DType::f32);
  double a = 2, b = 0;
  copy_strided({&b, {}}, {&a, {}}, {}, DType::f64);
  EXPECT_EQ(b, 2);
}

}  // namespace
}  // namespace cleave::standalone
