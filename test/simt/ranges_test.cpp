#include "simt/ranges.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "test/simt/threads.h"

namespace cleave::simt {
namespace {

using loop::binary;
using loop::make_var;
using loop::Op;
using loop::unary;

// i is 0 to 767, j -5 to 9, s 0 to 2147483000; n is any number.
class RangesOf : public testing::Test {
 protected:
  RangesOf() {
    known.set(i, Range{0, 767}), known.set(j, Range{-5, 9}), known.set(s, Range{0, 2147483000});
  }
  std::optional<Range> of(const Expr& e) { return known.of(e); }
  static std::optional<Range> between(int64_t low, int64_t high) { return Range{low, high}; }

  const Expr i = make_var(0, "i", DType::i64), j = make_var(1, "j", DType::i64),
             n = make_var(2, "n", DType::i64), s = make_var(3, "s", DType::i32);
  static constexpr int64_t least = std::numeric_limits<int64_t>::min(),
                           most = std::numeric_limits<int64_t>::max();
  Ranges known;
};

TEST_F(RangesOf, constants_and_variables) {
  EXPECT_EQ(of(Expr(7)), between(7, 7));
  EXPECT_EQ(of(i), between(0, 767));
  EXPECT_EQ(of(n), std::nullopt);
  EXPECT_EQ(of(loop::constant(DType::f32, 1)), std::nullopt);
  EXPECT_EQ(of(binary(Op::lt, n, i)), between(0, 1));
}

TEST_F(RangesOf, sums_and_products) {
  EXPECT_EQ(of(i + j), between(-5, 776));
  EXPECT_EQ(of(i - j), between(-9, 772));
  EXPECT_EQ(of(i * j), between(-3835, 6903));
  EXPECT_EQ(of(j * (j + Expr(1))), between(-50, 90));
  EXPECT_EQ(of(unary(Op::neg, j)), between(-9, 5));
  EXPECT_EQ(of(i + n), std::nullopt);
  EXPECT_EQ(of(i * n), std::nullopt);
}

TEST_F(RangesOf, quotients_round_as_they_do) {
  EXPECT_EQ(of(binary(Op::truncdiv, j, Expr(2))), between(-2, 4));
  EXPECT_EQ(of(binary(Op::floordiv, j, Expr(2))), between(-3, 4));
  EXPECT_EQ(of(binary(Op::truncmod, j, Expr(4))), between(-3, 3));
  EXPECT_EQ(of(binary(Op::floormod, j, Expr(4))), between(0, 3));
  EXPECT_EQ(of(binary(Op::truncmod, i, Expr(1000))), between(0, 767));
  EXPECT_EQ(of(binary(Op::floormod, n, Expr(8))), between(0, 7));
  EXPECT_EQ(of(binary(Op::truncdiv, i, j)), std::nullopt);  // by what may be 0
  EXPECT_EQ(of(binary(Op::truncdiv, j, i + Expr(1))), between(-5, 9));
}

TEST_F(RangesOf, choices) {
  EXPECT_EQ(of(binary(Op::min, i, Expr(63))), between(0, 63));
  EXPECT_EQ(of(binary(Op::max, j, Expr(0))), between(0, 9));
  EXPECT_EQ(of(select(binary(Op::lt, n, i), j, Expr(40))), between(-5, 40));
  EXPECT_EQ(of(binary(Op::bit_and, i, Expr(255))), between(0, 255));
  EXPECT_EQ(of(binary(Op::bit_and, j, Expr(255))), between(0, 255));  // -1 has all bits
  EXPECT_EQ(of(binary(Op::bit_and, j, j + Expr(1))), std::nullopt);
}

TEST_F(RangesOf, what_does_not_fit_is_any_number) {
  known.set(n, Range{least, 0});
  EXPECT_EQ(of(Expr(most) + i), std::nullopt);
  EXPECT_EQ(of(Expr(least) - i), std::nullopt);
  EXPECT_EQ(of(Expr(most) * i), std::nullopt);
  EXPECT_EQ(of(unary(Op::neg, n)), std::nullopt);
  EXPECT_EQ(of(Expr(most) - i), between(most - 767, most));
  EXPECT_EQ(of(s + loop::constant_int(DType::i32, 647)), between(647, 2147483647));
  EXPECT_EQ(of(s + loop::constant_int(DType::i32, 648)), std::nullopt);  // it wraps
}

TEST_F(RangesOf, conversions) {
  EXPECT_EQ(of(cast(i, DType::i32)), between(0, 767));
  EXPECT_EQ(of(cast(s, DType::i64)), between(0, 2147483000));
  EXPECT_EQ(of(cast(i * Expr(int64_t{1} << 40), DType::i32)), std::nullopt);
  EXPECT_EQ(of(cast(loop::load(0, DType::f32, i), DType::i64)), std::nullopt);
  EXPECT_EQ(of(loop::load(0, DType::i64, i)), std::nullopt);
}

TEST_F(RangesOf, the_most_may_be_known_alone) {
  EXPECT_EQ(known.most(binary(Op::min, n, i)), 767);
  EXPECT_EQ(known.most(binary(Op::min, n, n + Expr(1))), std::nullopt);
  EXPECT_EQ(known.most(binary(Op::max, n, i)), std::nullopt);
  EXPECT_EQ(known.most(binary(Op::max, binary(Op::min, n, i), Expr(900))), 900);
  EXPECT_EQ(known.most(n), std::nullopt);
}

TEST_F(RangesOf, a_variable_that_is_set_anew) {
  const Expr e = i + Expr(1);
  EXPECT_EQ(of(e), between(1, 768));
  known.set(i, Range{5, 6});
  EXPECT_EQ(of(e), between(6, 7));
  known.set(i, std::nullopt);
  EXPECT_EQ(of(e), std::nullopt);
}

TEST_F(RangesOf, what_fits_32_bits) {
  EXPECT_TRUE((Range{-2147483648, 2147483647}).fits_i32());
  EXPECT_FALSE((Range{0, 2147483648}).fits_i32());
  EXPECT_FALSE((Range{-2147483649, 0}).fits_i32());
}

// Values lie in their ranges, of random expressions.
TEST_F(RangesOf, random_expressions) {
  std::mt19937 rng(1);
  constexpr Op ops[] = {Op::add,      Op::sub,      Op::mul,      Op::min,      Op::max,    Op::neg,
                        Op::truncdiv, Op::truncmod, Op::floordiv, Op::floormod, Op::bit_and};
  int told = 0;
  for (int round = 0; round < 3000; ++round) {
    std::vector<Expr> known_exprs = {i, j, Expr(static_cast<int>(rng() % 9) - 3), Expr(8)};
    for (int depth = 0; depth < 4; ++depth) {
      const Op op = ops[rng() % std::size(ops)];
      const Expr a = known_exprs[rng() % known_exprs.size()],
                 b = known_exprs[rng() % known_exprs.size()];
      known_exprs.push_back(op == Op::neg ? unary(op, a) : binary(op, a, b));
    }
    const Expr e = known_exprs.back();
    const auto range = of(e);
    if (!range) continue;
    ++told;
    for (int value = 0; value < 20; ++value) {
      const auto at_i = static_cast<int64_t>(rng() % 768),
                 at_j = static_cast<int64_t>(rng() % 15) - 5;
      const int64_t v = test::evaluate(e, {{0, at_i}, {1, at_j}});
      ASSERT_TRUE(range->low <= v && v <= range->high)
          << "i = " << at_i << ", j = " << at_j << ": " << v << " is outside [" << range->low
          << ", " << range->high << "] of operation " << name_of(e->op);
    }
  }
  EXPECT_GT(told, 1000);
}

TEST(Ranges, what_they_decide) {
  const Expr i = make_var(0, "i", DType::i64), n = make_var(1, "n", DType::i64);
  Ranges r;
  r.set(i, Range{0, 11});
  const auto least = [](const Expr& a, const Expr& b) { return binary(Op::min, a, b); };
  EXPECT_EQ(r.decided(least(Expr(768) - i * Expr(64), Expr(64))), Expr(64));
  EXPECT_EQ(r.decided(least(Expr(64), Expr(768) - i * Expr(64))), Expr(64));
  const Expr some = least(Expr(700) - i * Expr(64), Expr(64));
  EXPECT_EQ(r.decided(some), some);
  EXPECT_EQ(r.decided(binary(Op::max, least(Expr(768) - i * Expr(64), Expr(64)), Expr(0))),
            Expr(64));
  EXPECT_EQ(r.decided(binary(Op::max, i, Expr(-1))), i);
  EXPECT_EQ(r.decided(binary(Op::max, i, Expr(12))), Expr(12));
  r.set(n, Range{7, 7});
  EXPECT_EQ(r.decided(n + Expr(1)), Expr(8));
  const Expr unknown = make_var(2, "u", DType::i64);
  EXPECT_EQ(r.decided(least(unknown, Expr(3))), least(unknown, Expr(3)));
}

}  // namespace
}  // namespace cleave::simt
