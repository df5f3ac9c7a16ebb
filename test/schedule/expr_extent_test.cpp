#include "schedule/expr_extent.h"

#include <gtest/gtest.h>

namespace cleave {
namespace {

using loop::Expr;

TEST(ExprExtent, parts_count_as_often_as_they_are_read) {
  const Expr a = loop::make_var(0, "a", DType::f32), b = loop::make_var(1, "b", DType::f32);
  const Expr t = a + b;
  ExprExtents extents;
  EXPECT_EQ(extents.of(t).operations, 3u);
  EXPECT_EQ(extents.of(t * t + t).operations, 11u);
  EXPECT_FALSE(extents.of(t).reads_memory);
  EXPECT_TRUE(extents.of(t * loop::load(0, DType::f32, Expr(0))).reads_memory);
}

// A hundred doublings are 2^100 operations, and are not walked through.
TEST(ExprExtent, it_is_bounded) {
  Expr x = loop::make_var(0, "x", DType::f32);
  for (int k = 0; k < 100; ++k) x = x * x;
  EXPECT_EQ(ExprExtents().of(x).operations, 65536u);
}

}  // namespace
}  // namespace cleave
