#include "simt/narrow.h"

#include <gtest/gtest.h>

#include <random>

#include "loop/replace.h"
#include "test/simt/threads.h"

namespace cleave::simt {
namespace {

using loop::binary;
using loop::constant_int;
using loop::make_var;
using loop::Op;

// A phase of 1000 blocks of 256 threads. i is 0 to 767, j -5 to 9, n 0 to 2^40; m is any number.
class NarrowIndices : public testing::Test {
 protected:
  NarrowIndices() {
    ranges.set(block, Range{0, 999}), ranges.set(thread, Range{0, 255});
    ranges.set(i, Range{0, 767}), ranges.set(j, Range{-5, 9});
    ranges.set(n, Range{0, int64_t{1} << 40});
  }
  Phase narrowed(Block body) {
    Phase p{1000, 256, block, thread, std::move(body)};
    narrow_indices(p, ranges);
    return p;
  }
  // Of a store of `value` at `index`.
  Store stored(const Expr& index, const Expr& value = loop::constant(DType::f32, 1)) {
    return std::get<Store>(narrowed({{Store{0, index, value}}}).body[0].node);
  }
  template <class T>
  static const T& at(const Block& b, size_t k) {
    return std::get<T>(b[k].node);
  }

  const Expr block = make_var(0, "block", DType::i64), thread = make_var(1, "thread", DType::i64),
             i = make_var(2, "i", DType::i64), j = make_var(3, "j", DType::i64),
             n = make_var(4, "n", DType::i64), m = make_var(5, "m", DType::i64),
             x = make_var(6, "x", DType::i64);
  Ranges ranges;
};

TEST_F(NarrowIndices, what_fits_is_of_32_bits) {
  const Phase p = narrowed({{Store{0, block * Expr(256) + thread, loop::constant(DType::f32, 1)}}});
  EXPECT_EQ(p.block.type(), DType::i32);
  EXPECT_EQ(p.thread.type(), DType::i32);
  const Expr& index = at<Store>(p.body, 0).index;
  EXPECT_EQ(index,
            binary(Op::add, binary(Op::mul, p.block, constant_int(DType::i32, 256)), p.thread));
}

TEST_F(NarrowIndices, what_does_not_fit_stays) {
  const Expr far = thread + n * Expr(8);
  const Phase p = narrowed({{Store{0, far, loop::constant(DType::f32, 1)}}});
  const Expr& index = at<Store>(p.body, 0).index;
  EXPECT_EQ(index, cast(p.thread, DType::i64) + n * Expr(8));
  EXPECT_EQ(stored(m + j).index.type(), DType::i64);
  ranges.set(block, Range{0, int64_t{1} << 31});
  EXPECT_EQ(narrowed({}).block.type(), DType::i64);
}

// The whole fits though a part doesn't: the part stays.
TEST_F(NarrowIndices, a_part_that_does_not_fit) {
  const Expr index = stored(binary(Op::truncmod, n, Expr(8)) + i).index;
  EXPECT_EQ(index.type(), DType::i32);
  EXPECT_EQ(index->args[0], cast(binary(Op::truncmod, n, Expr(8)), DType::i32));
}

TEST_F(NarrowIndices, values_of_64_bits_stay) {
  const Expr loaded = loop::load(1, DType::i64, i);
  const Store s = stored(i, loaded + i * Expr(3));
  EXPECT_EQ(s.value.type(), DType::i64);
  EXPECT_EQ(s.value->args[0]->args[0].type(), DType::i32);  // its index is narrow
  EXPECT_EQ(s.value->args[1]->op, Op::cast);
}

TEST_F(NarrowIndices, comparisons_are_of_what_fits) {
  const auto condition = [&](const Expr& c) {
    return at<If>(narrowed({{If{c, {}, {}}}}).body, 0).condition->args[0].type();
  };
  EXPECT_EQ(condition(binary(Op::lt, thread, i)), DType::i32);
  EXPECT_EQ(condition(binary(Op::lt, thread, n)), DType::i64);
}

TEST_F(NarrowIndices, lets_and_what_reads_them) {
  ranges.set(x, Range{0, 255999});
  const Phase p = narrowed(
      {{Let{x, block * Expr(256) + thread}}, {Store{0, x, loop::constant(DType::f32, 1)}}});
  const Let& let = at<Let>(p.body, 0);
  EXPECT_EQ(let.var.type(), DType::i32);
  EXPECT_EQ(let.value.type(), DType::i32);
  EXPECT_EQ(at<Store>(p.body, 1).index, let.var);
}

// Two branches define x, each for itself: in one it fits.
TEST_F(NarrowIndices, a_variable_with_two_definitions) {
  ranges.set(x, Range{0, 767});
  const Store store{0, x, loop::constant(DType::f32, 1)};
  const Phase p =
      narrowed({{If{binary(Op::lt, thread, i), {{Let{x, i}}, {store}}, {{Let{x, n}}, {store}}}}});
  const If& both = at<If>(p.body, 0);
  EXPECT_EQ(at<Let>(both.then, 0).var.type(), DType::i32);
  EXPECT_EQ(at<Store>(both.then, 1).index, at<Let>(both.then, 0).var);
  EXPECT_EQ(at<Let>(both.otherwise, 0).var.type(), DType::i64);
  EXPECT_EQ(at<Let>(both.otherwise, 0).value, n);
  EXPECT_EQ(at<Store>(both.otherwise, 1).index, cast(x, DType::i32));
}

TEST_F(NarrowIndices, loops) {
  const auto loop_to = [&](int64_t end, int64_t step) {
    ranges.set(x, Range{0, end - 1});
    const Phase p = narrowed({{For{.var = x,
                                   .begin = Expr(0),
                                   .end = Expr(end),
                                   .step = step,
                                   .body = {{Store{0, x, loop::constant(DType::f32, 1)}}}}}});
    const For& f = at<For>(p.body, 0);
    EXPECT_EQ(f.var.type(), f.begin.type());
    EXPECT_EQ(f.var.type(), f.end.type());
    EXPECT_EQ(at<Store>(f.body, 0).index.type(), DType::i32);
    return f.var.type();
  };
  EXPECT_EQ(loop_to(768, 1), DType::i32);
  EXPECT_EQ(loop_to(2147483647 - 256, 256), DType::i32);
  EXPECT_EQ(loop_to(2147483647 - 255, 256), DType::i64);  // steps beyond the end
}

// Random indices keep their values, and are narrow if they fit.
TEST_F(NarrowIndices, random_expressions) {
  std::mt19937_64 rng(1);
  constexpr Op ops[] = {Op::add,      Op::sub,      Op::mul,      Op::min,
                        Op::max,      Op::truncdiv, Op::truncmod, Op::floordiv,
                        Op::floormod, Op::bit_and,  Op::lt};
  int narrow = 0, wide = 0;
  for (int round = 0; round < 3000; ++round) {
    Exprs known = {i, j, n, Expr(8), Expr(static_cast<int>(rng() % 9) + 1)};
    for (int depth = 0; depth < 4; ++depth) {
      const Op op = ops[rng() % std::size(ops)];
      const Expr a = known[rng() % known.size()], b = known[rng() % known.size()];
      known.push_back(op == Op::lt ? select(binary(op, a, b), b, a) : binary(op, a, b));
    }
    const Expr e = known.back();
    const auto range = ranges.of(e);
    const Expr index = stored(e).index;
    const bool fits = range && range->fits_i32();
    ASSERT_EQ(index.type(), fits ? DType::i32 : DType::i64);
    (fits ? narrow : wide) += 1;
    for (int value = 0; value < 20 && range; ++value) {
      const std::unordered_map<int64_t, int64_t> at = {
          {2, static_cast<int64_t>(rng() % 768)},
          {3, static_cast<int64_t>(rng() % 15) - 5},
          {4, static_cast<int64_t>(rng() % (uint64_t{1} << 40))}};
      ASSERT_EQ(test::evaluate(index, at), test::evaluate(e, at)) << name_of(e->op);
    }
  }
  EXPECT_GT(narrow, 500);
  EXPECT_GT(wide, 500);
}

// i is compared with any number m in 32 bits, and m with what is left of it in 32.
TEST_F(NarrowIndices, equality_with_any_number) {
  for (const Expr& e : {binary(Op::eq, i, m), binary(Op::eq, m, i)}) {
    const Expr value = select(e, Expr(1), Expr(0));
    const Expr made = stored(i, value).value;
    int of_64 = 0;
    loop::for_each_part(made, [&](const Expr& part) {
      if (part->op != Op::eq) return;
      of_64 += part->args[0].type() == DType::i64;
      EXPECT_TRUE(part->args[0].type() == DType::i32 || part->args[1] == m);
    });
    EXPECT_EQ(of_64, 1);
    for (const int64_t number : {0L, 5L, 767L, 5L + (1L << 32), -1L, -100L, 5L - (1L << 40)})
      for (const int64_t at : {0, 5, 767})
        EXPECT_EQ(test::evaluate(made, {{2, at}, {5, number}}), at == number) << number;
  }
}

}  // namespace
}  // namespace cleave::simt
