#include "loop/replace.h"

#include <gtest/gtest.h>

namespace cleave::loop {
namespace {

class Replaced : public testing::Test {
 protected:
  const Expr i = make_var(0, "i", DType::i64), j = make_var(1, "j", DType::i64),
             t = make_var(2, "t", DType::f32);
  static Expr at(const Expr& index, int64_t buffer = 0) { return load(buffer, DType::f32, index); }
};

TEST_F(Replaced, variables_by_their_numbers) {
  EXPECT_EQ(replaced(i * Expr(8) + j, {{0, j + Expr(1)}}), (j + Expr(1)) * Expr(8) + j);
  EXPECT_EQ(replaced(unary(Op::exp, t) + at(j), {{2, at(i)}, {1, i}}),
            unary(Op::exp, at(i)) + at(i));
  EXPECT_EQ(replaced(t, {{0, j}}), t);
}

// i becomes j and j becomes i, not i becomes j becomes i.
TEST_F(Replaced, all_at_once) { EXPECT_EQ(replaced(i - j, {{0, j}, {1, i}}), j - i); }

TEST_F(Replaced, index_arithmetic_is_folded) {
  const VariableValues zero = {{0, Expr(0)}};
  EXPECT_EQ(replaced(i * Expr(768) + j, zero), j);
  EXPECT_EQ(replaced(at(i * Expr(768) + j), zero), at(j));
  EXPECT_EQ(replaced(i * Expr(8) + Expr(3), {{0, Expr(2)}}), Expr(19));
  // Values are not: 0*t isn't 0 of a NaN.
  EXPECT_EQ(replaced(t * constant(DType::f32, 1), {{2, constant(DType::f32, 0)}})->op, Op::mul);
}

TEST_F(Replaced, loads_come_with_the_index_that_they_get) {
  const Expr out = replaced(at(i) + at(j, 1), [&](const Expr& leaf) {
    if (leaf == i) return j;
    if (leaf->op == Op::load && leaf->buffer() == 0) return at(leaf->args[0] + Expr(5), 7);
    return Expr();
  });
  EXPECT_EQ(out, at(j + Expr(5), 7) + at(j, 1));
}

TEST_F(Replaced, what_holds_nothing_of_it_is_the_same_node) {
  const Expr e = select(binary(Op::lt, i, j), t, at(i));
  EXPECT_EQ(replaced(e, {{9, i}}), e);
  EXPECT_EQ(replaced(cast(i, DType::i32), {{0, j}}), cast(j, DType::i32));
}

TEST_F(Replaced, each_part_is_visited_once) {
  Expr e = t;
  for (int depth = 0; depth < 60; ++depth) e = e + e;  // 2^60 as a tree
  int parts = 0;
  for_each_part(e, [&](const Expr&) { ++parts; });
  EXPECT_EQ(parts, 61);
  EXPECT_EQ(replaced(e, {{2, t}}), e);
}

}  // namespace
}  // namespace cleave::loop
