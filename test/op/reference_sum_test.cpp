// The oracle's sums and products: one rounding at any length, infinities as in plain float64.
#include "op/reference_sum.h"

#include <gtest/gtest.h>

#include <limits>

namespace cleave::test {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

double sum_of(std::initializer_list<double> xs) {
  ReferenceSum sum;
  for (const double x : xs) sum += x;
  return sum;
}

TEST(ReferenceSum, rounds_once) {
  ReferenceSum sum;
  for (int k = 0; k < 1'000'000; ++k) sum += 0.1;
  EXPECT_EQ(sum, 100000.0);  // 1e6 times the float64 next to 0.1, rounded
  EXPECT_EQ(sum_of({1, 1e100, 1, -1e100}), 2);
  EXPECT_EQ(sum_of({1e100, 1, -1e100}), 1);
}

TEST(ReferenceSum, infinities_and_nan) {
  EXPECT_EQ(sum_of({1, inf, 2}), inf);
  EXPECT_EQ(sum_of({-inf, 1, -inf}), -inf);
  EXPECT_TRUE(std::isnan(sum_of({inf, -inf})));
  EXPECT_TRUE(std::isnan(sum_of({1, std::nan(""), 2})));
  EXPECT_EQ(sum_of({1e308, 1e308}), inf);
}

TEST(ReferenceSum, keeps_what_nothing_is_added_to) {
  const std::vector<double> y = {-0.0, 0.1, inf};
  const std::vector<double> same = rounded(sums_from(y));
  EXPECT_TRUE(std::signbit(same[0]));
  EXPECT_EQ(same, y);
}

TEST(ReferenceProduct, rounds_once) {
  ReferenceProduct product;
  for (int k = 0; k < 40; ++k) product *= 1 + 0x1p-30;
  EXPECT_DOUBLE_EQ(product, std::exp(40 * std::log1p(0x1p-30)));
  ReferenceProduct back;
  for (const double x : {3.0, 1 / 3.0, 7.0}) back *= x;
  EXPECT_EQ(back, 7 - 7 * 0x1p-54);  // 1/3 is 2^-54 / 3 above its float64, exactly 7 (1 - 2^-54)
  ReferenceProduct over;
  for (const double x : {1e200, 1e200, 0.5}) over *= x;
  EXPECT_EQ(over, inf);
  over *= 0;
  EXPECT_TRUE(std::isnan(static_cast<double>(over)));
}

}  // namespace
}  // namespace cleave::test
