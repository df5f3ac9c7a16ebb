// Lane strides of expressions.
#include "schedule/lane_strides.h"

#include <gtest/gtest.h>

namespace cleave::schedule {
namespace {

using loop::Expr;
using loop::Op;

const Expr lane = loop::make_var(1, "i", DType::i64), other = loop::make_var(2, "j", DType::i64);

LaneStride stride_of(const Expr& e) {
  LaneStrides strides;
  strides.set(lane, 1);
  return strides.of(e);
}

TEST(LaneStrides, follow_sums_and_products) {
  EXPECT_EQ(stride_of(other), LaneStride(0));
  EXPECT_EQ(stride_of(lane), LaneStride(1));
  EXPECT_EQ(stride_of(binary(Op::floordiv, other, Expr(7))), LaneStride(0));
  EXPECT_EQ(stride_of(Expr(3) * lane + other), LaneStride(3));
  EXPECT_EQ(stride_of(other - lane * Expr(4)), LaneStride(-4));
  EXPECT_EQ(stride_of(lane * other), LaneStride());
  EXPECT_EQ(stride_of(binary(Op::floordiv, lane, Expr(7))), LaneStride());
  EXPECT_EQ(stride_of(binary(Op::floordiv, lane, Expr(7)) + lane), LaneStride());
}

// Rotary embeddings make an index as deep as this: visiting it 2^depth times took minutes.
TEST(LaneStrides, look_once_at_what_a_deep_expression_reads) {
  Expr e = lane;
  constexpr int64_t depth = 400;
  for (int64_t k = 0; k < depth; ++k) e = e + binary(Op::floordiv, other, Expr(k + 2));
  EXPECT_EQ(stride_of(e), LaneStride(1));
}

}  // namespace
}  // namespace cleave::schedule
