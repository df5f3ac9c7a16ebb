// Lane strides of expressions.
#include "schedule/lane_strides.h"

#include <gtest/gtest.h>

#include <random>

#include "loop/index_math.h"

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

int64_t value_of(const Expr& e, int64_t lane_value, int64_t other_value) {
  if (e == lane) return lane_value;
  if (e == other) return other_value;
  if (const int64_t* n = e.as_const_int()) return *n;
  const int64_t a = value_of(e->args[0], lane_value, other_value),
                b = value_of(e->args[1], lane_value, other_value);
  switch (e->op) {
    case Op::add: return a + b;
    case Op::mul: return a * b;
    case Op::truncdiv:
    case Op::floordiv: return a / b;
    case Op::truncmod:
    case Op::floormod: return a % b;
    default: ADD_FAILURE(); return 0;
  }
}

// A vector of lanes is a part of what a multiple of their number divides.
TEST(LaneStrides, are_those_of_quotients_of_whole_vectors) {
  int known = 0;
  for (const int lanes : {16, 64})
    for (const int64_t factor : {1, 8, 16, 48, 64})
      for (const int64_t added : {0, 8, 16, 64, -16})
        for (const int64_t divisor : {16, 40, 48, 64, 80, 128, 192})
          for (const Op op : {Op::truncdiv, Op::truncmod, Op::floordiv, Op::floormod}) {
            const Expr e = binary(op, other * Expr(factor) + lane + Expr(added), Expr(divisor));
            LaneStrides strides;
            strides.set_lane(lane, lanes);
            const LaneStride found = strides.of(e);
            if (!found) continue;
            ++known;
            EXPECT_EQ(added % lanes, 0);
            for (int64_t j = 0; j < 40; ++j)
              for (int64_t first = 0; first < 3 * lanes; first += lanes)
                for (int l = 0; l < lanes; ++l)
                  ASSERT_EQ(value_of(e, first + l, j), value_of(e, first, j) + l * *found)
                      << lanes << " lanes, factor " << factor << ", divisor " << divisor;
          }
  EXPECT_GT(known, 100);
}

// Rotary embeddings make an index as deep as this: visiting it 2^depth times took minutes.
TEST(LaneStrides, look_once_at_what_a_deep_expression_reads) {
  Expr e = lane;
  constexpr int64_t depth = 400;
  for (int64_t k = 0; k < depth; ++k) e = e + binary(Op::floordiv, other, Expr(k + 2));
  EXPECT_EQ(stride_of(e), LaneStride(1));
}

// Where a stride is known, it is the lane's factor in the normal form.
TEST(LaneStrides, are_factors_of_the_lane) {
  std::mt19937 rng(3);
  int known = 0;
  for (int round = 0; round < 2000; ++round) {
    loop::IndexMath math;
    math.declare(lane, 64), math.declare(other, 48);
    loop::Exprs pool = {lane, other, other};
    for (int k = 0; k < 6; ++k) {
      const Expr a = pool[rng() % pool.size()], b = pool[rng() % pool.size()];
      const Expr n(static_cast<int64_t>(rng() % 9 + 1));
      switch (rng() % 5) {
        case 0: pool.push_back(a + b); break;
        case 1: pool.push_back(a - b); break;
        case 2: pool.push_back(n * a); break;
        case 3: pool.push_back(binary(Op::truncdiv, other, n)); break;
        default: pool.push_back(binary(Op::truncmod, a * n, Expr(97))); break;
      }
    }
    const LaneStride stride = stride_of(pool.back());
    const loop::LinearIndex form = math.linear(pool.back());
    if (!stride) continue;
    EXPECT_EQ(*stride, form.factor_of(math.atom_of(lane))) << "round " << round;
    known += *stride != 0;
  }
  EXPECT_GT(known, 300);
}

}  // namespace
}  // namespace cleave::schedule
