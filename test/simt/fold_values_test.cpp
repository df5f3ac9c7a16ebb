#include "simt/fold_values.h"

#include <gtest/gtest.h>

namespace cleave::simt {
namespace {

using loop::binary;
using loop::Expr;
using loop::make_var;
using loop::Op;
using loop::ReduceOp;

TEST(FoldValues, are_combined_by_their_operation) {
  const Expr a = make_var(0, "a", DType::f32), b = make_var(1, "b", DType::f32);
  EXPECT_EQ(combined(ReduceOp::sum, a, b), a + b);
  EXPECT_EQ(combined(ReduceOp::prod, a, b), a * b);
  EXPECT_EQ(combined(ReduceOp::max, a, b), binary(Op::max, a, b));
  EXPECT_EQ(combined(ReduceOp::min, a, b), binary(Op::min, a, b));
}

TEST(FoldValues, of_integers_and_bools) {
  const Expr a = make_var(0, "a", DType::i64), b = make_var(1, "b", DType::i64);
  EXPECT_EQ(combined(ReduceOp::any, a, b), binary(Op::bit_or, a, b));
  EXPECT_EQ(combined(ReduceOp::all, a, b), binary(Op::bit_and, a, b));
  const Expr p = make_var(2, "p", DType::boolean), q = make_var(3, "q", DType::boolean);
  for (const ReduceOp or_ : {ReduceOp::sum, ReduceOp::max, ReduceOp::any})
    EXPECT_EQ(combined(or_, p, q), binary(Op::logical_or, p, q));
  for (const ReduceOp and_ : {ReduceOp::prod, ReduceOp::min, ReduceOp::all})
    EXPECT_EQ(combined(and_, p, q), binary(Op::logical_and, p, q));
}

TEST(FoldValues, are_totalled_in_f64_where_they_round) {
  const auto type = [](ReduceOp op, DType t) {
    return total_type({op, make_var(0, "s", t), loop::constant(t, 1)});
  };
  EXPECT_EQ(type(ReduceOp::sum, DType::f32), DType::f64);
  EXPECT_EQ(type(ReduceOp::prod, DType::f32), DType::f64);
  EXPECT_EQ(type(ReduceOp::sum, DType::f64), DType::f64);
  EXPECT_EQ(type(ReduceOp::max, DType::f32), DType::f32);
  EXPECT_EQ(type(ReduceOp::sum, DType::i64), DType::i64);
  EXPECT_EQ(type(ReduceOp::sum, DType::i32), DType::i32);
  EXPECT_EQ(type(ReduceOp::any, DType::boolean), DType::boolean);
}

}  // namespace
}  // namespace cleave::simt
