// Several writes to one element: the last one wins, sums are added in the order of the indices,
// 16-bit sums are rounded once; the same on one thread and on two (by_both).
#include <gtest/gtest.h>

#include <cmath>

#include "test/sample/both_engines.h"

namespace cleave::test {
namespace {

TEST(WriteOrder, the_last_write_stays) {
  const Arrays y = by_both(
      "graph @main(%x: input f32[2,2], %i: input i64[3], %j: input i64[3,2], %v: input f32[3,2]) "
      "{\n"
      "  %a = index_put(%x, [%i], %v)\n"
      "  %b = scatter(%x, %j, %v; dim=0)\n"
      "  return %a, %b\n}\n",
      {{"x", floats(DType::f32, {2, 2}, {9, 9, 9, 9})},
       {"i", ints(DType::i64, {3}, {1, 0, 1})},
       {"j", ints(DType::i64, {3, 2}, {0, 1, 0, 1, 0, 0})},
       {"v", counting(DType::f32, {3, 2})}},
      0);
  EXPECT_EQ(y[0].f, (std::vector<double>{2, 3, 4, 5}));
  EXPECT_EQ(y[1].f, (std::vector<double>{4, 5, 9, 3}));
}

// 2^27 + 1 - 2^27 is 0 in f32 in this order and 1 in another, or without rounding.
TEST(WriteOrder, sums_are_added_in_order) {
  const double big = 134217728;
  const std::string text =
      "graph @main(%w: input f32[2,1], %i: input i64[3], %j: input i64[3,1], %g: input f32[3,1]) "
      "{\n"
      "  %a = embedding_dense_backward(%g, %i; num_weights=2, padding_idx=-1, "
      "scale_grad_by_freq=false)\n"
      "  %b = index_put(%w, [%i], %g; accumulate=true)\n"
      "  %c = scatter_add(%w, %j, %g; dim=0)\n"
      "  return %a, %b, %c\n}\n";
  Inputs in = {{"w", floats(DType::f32, {2, 1}, {0, 0})},
               {"i", ints(DType::i64, {3}, {1, 1, 1})},
               {"j", ints(DType::i64, {3, 1}, {1, 1, 1})},
               {"g", floats(DType::f32, {3, 1}, {big, 1, -big})}};
  for (const Array& y : by_compiled(text, in).results) EXPECT_EQ(y.f, (std::vector<double>{0, 0}));
  in.at("g").f = {big, -big, 1};
  for (const Array& y : by_compiled(text, in).results) EXPECT_EQ(y.f, (std::vector<double>{0, 1}));
}

// 256 + 1 is 256 in bf16: only a sum that is kept in f32 reaches 258.
TEST(WriteOrder, narrow_sums_are_rounded_once) {
  const Arrays y = by_both(
      "graph @main(%w: input bf16[2,1], %i: input i64[3], %j: input i64[3,1], %g: input bf16[3,1]) "
      "{\n"
      "  %a = embedding_dense_backward(%g, %i; num_weights=2, padding_idx=-1, "
      "scale_grad_by_freq=false)\n"
      "  %b = index_put(%w, [%i], %g; accumulate=true)\n"
      "  %c = scatter_add(%w, %j, %g; dim=0)\n"
      "  return %a, %b, %c\n}\n",
      {{"w", floats(DType::bf16, {2, 1}, {0, 0})},
       {"i", ints(DType::i64, {3}, {1, 1, 1})},
       {"j", ints(DType::i64, {3, 1}, {1, 1, 1})},
       {"g", floats(DType::bf16, {3, 1}, {256, 1, 1})}},
      0);
  for (const Array& a : y) EXPECT_EQ(a.f, (std::vector<double>{0, 258}));
}

TEST(WriteOrder, many_columns_and_rows) {
  Inputs in = {{"i", Array(DType::i64, {300})}, {"g", scattered(DType::f32, {300, 133}, 3)}};
  for (int64_t k = 0; k < 300; ++k) in.at("i").i[k] = (k * k) % 37;
  by_both(
      "graph @main(%i: input i64[300], %g: input f32[300,133]) {\n"
      "  %y = embedding_dense_backward(%g, %i; num_weights=40, padding_idx=4, "
      "scale_grad_by_freq=false)\n  return %y\n}\n",
      in, 1e-5);
}

TEST(NllLoss, nothing_but_ignored_rows) {
  const Arrays y = by_both(
      "graph @main(%x: input f32[2,3], %t: input i64[2], %g: input f32[]) {\n"
      "  %y, %w = nll_loss_forward(%x, %t; reduction=1, ignore_index=1)\n"
      "  %d = nll_loss_backward(%g, %x, %t, none, %w; reduction=1, ignore_index=1)\n"
      "  return %y, %w, %d\n}\n",
      {{"x", scattered(DType::f32, {2, 3}, 1)},
       {"t", ints(DType::i64, {2}, {1, 1})},
       {"g", floats(DType::f32, {}, {1})}},
      0);
  EXPECT_TRUE(std::isnan(y[0].f[0]));
  EXPECT_EQ(y[1].f[0], 0);
  EXPECT_EQ(y[2].f, std::vector<double>(6, 0));
}

}  // namespace
}  // namespace cleave::test
