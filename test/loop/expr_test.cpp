// Expressions: what an operation says beside its operands, and the constants that are folded.
// tests: op.cpp
#include "loop/expr.h"

#include <gtest/gtest.h>

#include <cmath>

#include "cleave/error.h"

namespace cleave::loop {
namespace {

const Expr i = make_var(3, "i", DType::i64), x = load(2, DType::bf16, i);

TEST(Expr, an_operation_says_what_is_its_own) {
  EXPECT_EQ(constant(DType::f32, 1.5)->real(), 1.5);
  EXPECT_EQ(constant_int(DType::i32, -4)->integer(), -4);
  EXPECT_EQ(i->id(), 3);
  EXPECT_EQ(i->name(), "i");
  EXPECT_EQ(x->buffer(), 2);
  EXPECT_EQ(x.type(), DType::f32);
  EXPECT_EQ(round_to_stored(x, DType::f16)->stored(), DType::f16);
}

TEST(Expr, what_another_operation_says_is_a_bug) {
  EXPECT_THROW((void)i->buffer(), Error);
  EXPECT_THROW((void)i->integer(), Error);
  EXPECT_THROW((void)x->id(), Error);
  EXPECT_THROW((void)x->name(), Error);
  EXPECT_THROW((void)x->stored(), Error);
  EXPECT_THROW((void)cast(x, DType::i64)->stored(), Error);
  EXPECT_THROW((void)constant(DType::f32, 1.5)->integer(), Error);
  EXPECT_THROW((void)constant_int(DType::i64, 1)->real(), Error);
  EXPECT_THROW((void)(x + x)->real(), Error);
}

TEST(Expr, constants_stay_themselves) {
  EXPECT_TRUE(std::signbit(constant(DType::f32, -0.0)->real()));
  EXPECT_TRUE(std::isnan(constant(DType::f64, std::nan(""))->real()));
  EXPECT_EQ(constant(DType::f32, 0.1)->real(), 0.1f);
  EXPECT_EQ(constant(DType::f64, 0.1)->real(), 0.1);
  EXPECT_EQ(constant(DType::boolean, 7)->integer(), 1);
  EXPECT_EQ(constant_int(DType::i32, int64_t{1} << 32 | 5)->integer(), 5);
}

// As often as parts are read, and no further than is asked for.
TEST(Expr, the_length_is_that_of_the_text) {
  const Expr a = make_var(0, "a", DType::f32), t = a + a;
  EXPECT_EQ(t->operations, 3u);
  EXPECT_EQ((t * t + t)->operations, 11u);
  EXPECT_FALSE(t->reads_memory);
  EXPECT_TRUE((t * x)->reads_memory);
  Expr doubled = a;
  for (int k = 0; k < 100; ++k) doubled = doubled * doubled;
  EXPECT_EQ(doubled->operations, 65536u);
}

TEST(Expr, only_narrower_dtypes_are_rounded_to) {
  EXPECT_EQ(round_to_stored(x, DType::bf16)->op, Op::round_to);
  EXPECT_EQ(round_to_stored(x, DType::f32)->op, Op::load);
  EXPECT_EQ(round_to_stored(x, DType::f64)->op, Op::cast);
  EXPECT_EQ(round_to_stored(x, DType::i8)->args[0]->op, Op::cast);
}

}  // namespace
}  // namespace cleave::loop
