// Division that rounds down, and what is left.
#include "base/floor_division.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace cleave {
namespace {

TEST(FloorDivision, rounds_down) {
  for (int64_t a = -30; a <= 30; ++a)
    for (int64_t b = -7; b <= 7; ++b) {
      if (b == 0) continue;
      const int64_t q = floor_div(a, b), r = floor_mod(a, b);
      EXPECT_EQ(q * b + r, a);
      EXPECT_TRUE(r == 0 || (r < 0) == (b < 0)) << a << " " << b;
      EXPECT_LT(std::abs(r), std::abs(b));
    }
  EXPECT_EQ(floor_div(5, 0), 0);
  EXPECT_EQ(floor_mod(5, 0), 0);
  EXPECT_EQ(floor_div(INT64_MIN, -1), INT64_MAX);
  EXPECT_EQ(floor_mod(INT64_MIN, -1), 0);
}

}  // namespace
}  // namespace cleave
