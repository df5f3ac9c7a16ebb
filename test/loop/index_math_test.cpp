// Index arithmetic: the normal form has the value of the original expression, and known bounds
// hold.
#include "loop/index_math.h"

#include <gtest/gtest.h>

#include <random>

namespace cleave::loop {
namespace {

int64_t value_of(const Expr& e, const std::vector<int64_t>& vars) {
  switch (e->op) {
    case Op::constant: return e->integer();
    case Op::var: return vars[static_cast<size_t>(e->id())];
    default: break;
  }
  const int64_t a = value_of(e->args[0], vars), b = value_of(e->args[1], vars);
  switch (e->op) {
    case Op::add: return a + b;
    case Op::sub: return a - b;
    case Op::mul: return a * b;
    case Op::truncdiv: return a / b;
    case Op::truncmod: return a % b;
    case Op::floordiv: return a / b - (a % b < 0 ? 1 : 0);
    case Op::floormod: return a % b + (a % b < 0 ? b : 0);
    case Op::min: return std::min(a, b);
    case Op::max: return std::max(a, b);
    default: ADD_FAILURE() << name_of(e->op); return 0;
  }
}

class IndexMathTest : public testing::Test {
 protected:
  Expr var(int64_t extent) {
    const auto id = static_cast<int64_t>(extents.size());
    Expr v = make_var(id, "v" + std::to_string(id), DType::i64);
    extents.push_back(extent);
    math.declare(v, extent);
    return v;
  }
  bool same(const Expr& a, const Expr& b) { return math.simplify(a) == math.simplify(b); }
  IndexMath math;
  std::vector<int64_t> extents;
};

TEST_F(IndexMathTest, a_row_and_a_column_come_apart) {
  const Expr p = var(256), j = var(768);
  const Expr number = p * Expr(768) + j;
  EXPECT_TRUE(same(math.divide(number, 768), p));
  EXPECT_TRUE(same(math.modulo(number, 768), j));
  EXPECT_TRUE(same(math.modulo(number, 64), math.modulo(j, 64)));
  EXPECT_TRUE(same(math.divide(number, 64), p * Expr(12) + math.divide(j, 64)));
}

TEST_F(IndexMathTest, quotient_and_remainder_join) {
  const Expr p = var(1000);
  const Expr back = math.divide(p, 7) * Expr(14) + math.modulo(p, 7) * Expr(2);
  EXPECT_TRUE(same(back, p * Expr(2)));
}

TEST_F(IndexMathTest, an_index_taken_apart_and_put_together_is_itself) {
  const Expr p = var(12 * 64 * 512);
  const Exprs index = math.delinearise(p, {12, 64, 512});
  EXPECT_TRUE(same(math.dot(index, {64 * 512, 512, 1}), p));
  const Exprs deep = math.delinearise(p, {2, 6, 8, 8, 16, 32});
  EXPECT_TRUE(same(math.dot(deep, {6 * 32768, 32768, 4096, 512, 32, 1}), p));
}

// Blocks of 64, of which the last one may be shorter, in every shape of three dims.
TEST_F(IndexMathTest, an_element_of_a_block_taken_apart_is_itself) {
  int shapes = 0;
  for (int64_t n = 65; n <= 320; ++n) {
    const Expr block = var((n + 63) / 64), lane = var(64), element = block * Expr(64) + lane;
    math.declare_sum(block, 64, lane, n);
    for (int64_t a = 1; a <= n; ++a)
      for (int64_t b = 1; n % a == 0 && b <= n / a; ++b) {
        if (n / a % b != 0) continue;
        const int64_t c = n / a / b;
        const Exprs index = math.delinearise(element, {a, b, c});
        EXPECT_TRUE(same(math.dot(index, {b * c, c, 1}), element)) << a << ' ' << b << ' ' << c;
        ++shapes;
      }
  }
  EXPECT_GT(shapes, 3000);
}

// What a window that begins before the image reads, clamped to the image.
TEST_F(IndexMathTest, clamps_that_change_nothing_are_gone) {
  const Expr i = var(16), half = binary(Op::truncdiv, i - Expr(1), Expr(2));
  EXPECT_TRUE(same(binary(Op::min, binary(Op::max, half, Expr(0)), Expr(7)), half));
  EXPECT_FALSE(same(binary(Op::min, half, Expr(6)), half));
  const Expr down = binary(Op::floordiv, i - Expr(1), Expr(2));  // from -1
  EXPECT_FALSE(same(binary(Op::max, down, Expr(0)), down));
  EXPECT_TRUE(same(binary(Op::max, down, Expr(-1)), down));
}

TEST_F(IndexMathTest, equal_indices_are_one_expression) {
  const Expr i = var(8), j = var(16);
  EXPECT_TRUE(same(i * Expr(16) + j, j + Expr(16) * i));
  EXPECT_TRUE(same(i + j - i, j));
  EXPECT_FALSE(same(i, j));
}

// The kept dims of an element have the same index expressions whether they are taken from the row's
// number or from the element's, as a fold over the other dims needs: for random shapes and dims,
// with adjacent dims of a kind as one.
TEST(IndexMathRows, a_row_has_the_indices_of_its_elements) {
  std::mt19937 rng(1);
  for (int round = 0; round < 2000; ++round) {
    IndexMath math;
    std::vector<int64_t> shape(rng() % 6 + 1), result, extents;
    std::vector<bool> kept(shape.size()), is_row;
    for (size_t d = 0; d < shape.size(); ++d) {
      shape[d] = static_cast<int64_t>(rng() % 6 + 1);
      kept[d] = rng() % 2 == 0;
      result.push_back(kept[d] ? shape[d] : 1);
      if (is_row.empty() || is_row.back() != kept[d]) {
        is_row.push_back(kept[d]);
        extents.push_back(1);
      }
      extents.back() *= shape[d];
    }
    std::vector<int64_t> rows, steps(extents.size()), row_steps(extents.size());
    int64_t step = 1, row_step = 1;
    for (size_t k = extents.size(); k-- > 0;) {
      steps[k] = step;
      step *= extents[k];
      row_steps[k] = is_row[k] ? row_step : 0;
      if (!is_row[k]) continue;
      row_step *= extents[k];
      rows.insert(rows.begin(), extents[k]);
    }
    const Expr row = make_var(0, "row", DType::i64);
    math.declare(row, row_step);
    const Exprs of_row = math.delinearise(row_step == 1 ? Expr(0) : row, rows);
    Exprs parts;
    size_t next = 0;
    for (size_t k = 0; k < extents.size(); ++k) {
      const Expr inner = make_var(static_cast<int64_t>(k) + 1, "i", DType::i64);
      if (!is_row[k]) math.declare(inner, extents[k]);
      parts.push_back(is_row[k] ? of_row[next++] : extents[k] == 1 ? Expr(0) : inner);
    }
    const Exprs of_element = math.delinearise(math.dot(parts, steps), shape);
    const Exprs of_number = math.delinearise(math.dot(parts, row_steps), result);
    for (size_t d = 0; d < shape.size(); ++d) {
      if (!kept[d]) continue;
      ASSERT_EQ(of_element[d], of_number[d]) << "round " << round << " dim " << d;
    }
  }
}

TEST_F(IndexMathTest, delinearise_gives_the_dims_back) {
  const Expr b = var(4), t = var(64), h = var(12), d = var(5);
  const Expr number = math.dot({b, t, h, d}, {64 * 12 * 5, 12 * 5, 5, 1});
  const Exprs index = math.delinearise(number, {4, 64, 12, 5});
  EXPECT_TRUE(same(index[0], b) && same(index[1], t) && same(index[2], h) && same(index[3], d));
  const Exprs merged = math.delinearise(number, {256, 60});
  EXPECT_TRUE(same(merged[0], b * Expr(64) + t));
  EXPECT_TRUE(same(merged[1], h * Expr(5) + d));
}

// As in a cat of two operands: neither is read beyond its end, whichever one is selected.
TEST_F(IndexMathTest, the_larger_and_the_smaller_of_two_are_bounded) {
  const Expr p = var(48), i = var(8);
  const Expr high = binary(Op::max, i - Expr(4), Expr(0)), low = binary(Op::min, i, Expr(3));
  for (const Expr& part : {high, low, low + Expr(4)}) {
    EXPECT_TRUE(same(math.divide(p * Expr(8) + part, 8), p));
    EXPECT_TRUE(same(math.modulo(p * Expr(8) + part, 8), part));
  }
  EXPECT_FALSE(same(math.divide(p * Expr(4) + low + Expr(4), 4), p));
  EXPECT_TRUE(same(binary(Op::max, i, Expr(0)), i));
  EXPECT_TRUE(same(binary(Op::min, i, Expr(7)), i));
  EXPECT_TRUE(same(binary(Op::max, i, Expr(7)), Expr(7)));
  EXPECT_TRUE(same(binary(Op::min, i + p - p, Expr(3)), low));
}

// Real and imaginary parts in the other order; a reversed row; the row before.
TEST_F(IndexMathTest, what_runs_backwards_comes_apart) {
  const Expr p = var(48), i = var(2), j = var(8);
  const Expr other = Expr(1) - i, last = Expr(7) - j;
  EXPECT_TRUE(same(math.divide(p * Expr(2) + other, 2), p));
  EXPECT_TRUE(same(math.modulo(p * Expr(2) + other, 2), other));
  EXPECT_TRUE(same(math.divide(p * Expr(16) + last * Expr(2) + other, 16), p));
  EXPECT_TRUE(same(math.divide((p + Expr(1)) * Expr(8) - j - Expr(1), 8), p));
  EXPECT_TRUE(same(math.modulo((p + Expr(1)) * Expr(8) - j - Expr(1), 8), last));
  EXPECT_FALSE(same(math.divide(p * Expr(2) + Expr(2) - i, 2), p));  // of i = 0 it is p + 1
}

TEST_F(IndexMathTest, random_expressions_keep_their_values) {
  std::mt19937_64 rng(7);
  const auto below = [&](int64_t n) {
    return static_cast<int64_t>(rng() % static_cast<uint64_t>(n));
  };
  std::vector<Expr> vars;
  for (const int64_t extent : {1, 2, 3, 5, 8, 12, 64}) vars.push_back(var(extent));
  for (int round = 0; round < 6000; ++round) {
    std::vector<Expr> pool = vars;
    for (int k = 0; k < 8; ++k) {
      const Expr a = pool[static_cast<size_t>(below(std::ssize(pool)))];
      const Expr b = pool[static_cast<size_t>(below(std::ssize(pool)))];
      const Expr n(below(24) + 1);
      const Op divisions[] = {Op::truncdiv, Op::truncmod, Op::floordiv, Op::floormod};
      switch (below(12)) {
        case 0: pool.push_back(a + b); break;
        case 1: pool.push_back(a * n); break;
        case 2: pool.push_back(binary(Op::truncdiv, a, n)); break;
        case 3: pool.push_back(binary(Op::truncmod, a, n)); break;
        case 4: pool.push_back(binary(Op::min, a, n)); break;
        case 5: pool.push_back(binary(Op::max, a, b)); break;
        case 6: pool.push_back(binary(Op::max, a - n, Expr(0))); break;
        case 7: pool.push_back(binary(divisions[below(4)], a - n, Expr(below(9) + 1))); break;
        case 8:
          pool.push_back(binary(Op::min, binary(divisions[below(4)], a - b, n), b + Expr(1)));
          break;
        case 9: pool.push_back(b * n + Expr(below(64)) - a); break;
        case 10:
          pool.push_back(binary(divisions[below(4)], b * n + Expr(below(64)) - a * Expr(below(9)),
                                Expr(below(9) + 1)));
          break;
        default: pool.push_back(binary(Op::max, Expr(0), binary(Op::min, a - n, b))); break;
      }
    }
    const Expr e = pool.back(), s = math.simplify(e);
    for (int at = 0; at < 20; ++at) {
      std::vector<int64_t> values;
      for (const int64_t extent : extents) values.push_back(below(extent));
      ASSERT_EQ(value_of(s, values), value_of(e, values)) << "round " << round;
    }
  }
}

}  // namespace
}  // namespace cleave::loop
