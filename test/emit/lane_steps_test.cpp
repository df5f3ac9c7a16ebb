// How far apart the lanes' values of an expression are.
#include "emit/lane_steps.h"

#include <gtest/gtest.h>

namespace cleave::emit {
namespace {

using loop::Expr;
using loop::Op;

const Expr lane = loop::make_var(1, "i", DType::i64), other = loop::make_var(2, "j", DType::i64);

Step step_of(const Expr& e) {
  LaneSteps steps;
  steps.set(lane, 1);
  return steps.of(e);
}

TEST(LaneSteps, follow_sums_and_products) {
  EXPECT_EQ(step_of(other), Step(0));
  EXPECT_EQ(step_of(lane), Step(1));
  EXPECT_EQ(step_of(binary(Op::floordiv, other, Expr(7))), Step(0));
  EXPECT_EQ(step_of(Expr(3) * lane + other), Step(3));
  EXPECT_EQ(step_of(other - lane * Expr(4)), Step(-4));
  EXPECT_EQ(step_of(lane * other), Step());
  EXPECT_EQ(step_of(binary(Op::floordiv, lane, Expr(7))), Step());
  EXPECT_EQ(step_of(binary(Op::floordiv, lane, Expr(7)) + lane), Step());
}

// Rotary embeddings add up as deep an index: 2^depth looks at the lanes' variable took minutes.
TEST(LaneSteps, look_once_at_what_a_deep_expression_reads) {
  Expr e = lane;
  constexpr int64_t depth = 400;
  for (int64_t k = 0; k < depth; ++k) e = e + binary(Op::floordiv, other, Expr(k + 2));
  EXPECT_EQ(step_of(e), Step(1));
}

}  // namespace
}  // namespace cleave::emit
