#include "simt/affine.h"

#include <gtest/gtest.h>

#include <random>

#include "test/simt/threads.h"

namespace cleave::simt {
namespace {

using loop::binary;
using loop::make_var;
using loop::Op;

// In the loop over j; i changes elsewhere.
class AffineOf : public testing::Test {
 protected:
  AffineOf() { affines.set_loop(j); }
  // "8*j + 16*": the factor, and what divides the rest.
  std::string of(const Expr& e) const {
    const auto a = affines.of(e);
    return a ? fmt::format("{}*j + {}*", a->factor, a->divisor) : "";
  }
  const Expr i = make_var(0, "i", DType::i64), j = make_var(1, "j", DType::i64);
  Affines affines;
};

TEST_F(AffineOf, constants_and_variables) {
  EXPECT_EQ(of(Expr(12)), "0*j + 4*");
  EXPECT_EQ(of(Expr(-8)), "0*j + 8*");
  EXPECT_EQ(of(Expr(7)), "0*j + 1*");
  EXPECT_EQ(of(Expr(0)), "0*j + 64*");
  EXPECT_EQ(of(Expr(1 << 20)), "0*j + 64*");
  EXPECT_EQ(of(j), "1*j + 64*");
  EXPECT_EQ(of(i), "0*j + 1*");
}

TEST_F(AffineOf, sums_and_products) {
  EXPECT_EQ(of(i * Expr(768) + j), "1*j + 64*");
  EXPECT_EQ(of(i * Expr(100) + j), "1*j + 4*");
  EXPECT_EQ(of(j + i), "1*j + 1*");
  EXPECT_EQ(of(Expr(2) - j), "-1*j + 2*");
  EXPECT_EQ(of((j + Expr(4)) * Expr(3)), "3*j + 4*");
  EXPECT_EQ(of((j + Expr(4)) * Expr(8)), "8*j + 32*");
  EXPECT_EQ(of(j * Expr(3) - j * Expr(3)), "0*j + 64*");
  EXPECT_EQ(of(i * i), "0*j + 1*");
}

TEST_F(AffineOf, what_changes_otherwise) {
  EXPECT_EQ(of(j * i), "");
  EXPECT_EQ(of(j * j), "");
  EXPECT_EQ(of(binary(Op::truncdiv, j, Expr(2))), "");
  EXPECT_EQ(of(binary(Op::min, j, Expr(8))), "");
  EXPECT_EQ(of(loop::load(0, DType::i64, j)), "");
  EXPECT_EQ(of(j + loop::load(0, DType::i64, i)), "1*j + 1*");
}

TEST_F(AffineOf, operations_on_what_stays) {
  const Expr rows = i * Expr(8);
  EXPECT_EQ(of(binary(Op::min, rows, Expr(16))), "0*j + 8*");
  EXPECT_EQ(of(binary(Op::truncmod, rows, Expr(12))), "0*j + 4*");
  EXPECT_EQ(of(binary(Op::floormod, rows, Expr(32))), "0*j + 8*");
  EXPECT_EQ(of(binary(Op::truncdiv, rows, Expr(8))), "0*j + 1*");
}

TEST_F(AffineOf, variables_that_are_set) {
  affines.set(i, Affine{2, 8});
  EXPECT_EQ(of(i + j), "3*j + 8*");
  affines.set(i, std::nullopt);
  EXPECT_EQ(of(i + j), "");
  affines.set_loop({});
  EXPECT_EQ(of(j), "0*j + 1*");
}

// What is told of random expressions holds for each i and j.
TEST_F(AffineOf, random_expressions) {
  std::mt19937 rng(1);
  constexpr Op ops[] = {Op::add, Op::sub, Op::mul, Op::min, Op::max, Op::truncmod, Op::floormod};
  int told = 0;
  for (int round = 0; round < 5000; ++round) {
    std::vector<Expr> known = {i, j, Expr(4 << rng() % 3), Expr(static_cast<int>(rng() % 13))};
    for (int depth = 0; depth < 4; ++depth) {
      const Expr a = known[rng() % known.size()], b = known[rng() % known.size()];
      known.push_back(binary(ops[rng() % std::size(ops)], a, b));
    }
    const auto a = affines.of(known.back());
    if (!a) continue;
    ++told;
    for (int64_t at_i = 0; at_i < 5; ++at_i) {
      const auto rest = [&](int64_t at_j) {
        return test::evaluate(known.back(), {{0, at_i}, {1, at_j}}) - a->factor * at_j;
      };
      for (int64_t at_j = 0; at_j < 5; ++at_j) {
        ASSERT_EQ(rest(at_j), rest(0));
        ASSERT_EQ(rest(at_j) % a->divisor, 0) << a->factor << "*j, " << a->divisor;
      }
    }
  }
  EXPECT_GT(told, 1000);
}

}  // namespace
}  // namespace cleave::simt
