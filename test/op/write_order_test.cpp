// Several writes to one element: the last one wins, sums are added in the order of the indices,
// 16-bit sums are rounded once; the same on one thread and on two (by_both).
#include <gtest/gtest.h>

#include <fmt/format.h>

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

// Windows that overlap, of one plane (each element looks at its windows) and of 8 (each window adds
// to its element): what they add comes in their order.
TEST(WriteOrder, windows_add_in_order) {
  const double big = 134217728;
  for (const int64_t planes : {1, 8})
    for (const int64_t dilation : {1, 2}) {
      const int64_t width = 2 * dilation + 1;
      const std::string g_type = fmt::format("f32[1,{},1,{}]", planes, width),
                        window = fmt::format(
                            "kernel_size=[1,3], stride=[1,1], padding=[0,{0}], "
                            "dilation=[1,{0}], ceil_mode=false",
                            dilation);
      const std::string text = fmt::format(
          "graph @main(%x: input {0}, %g: input {0}) {{\n"
          "  %y, %i = max_pool2d_with_indices(%x; {1})\n"
          "  %a = max_pool2d_with_indices_backward(%g, %x, %i; {1})\n"
          "  %z, %o = _low_memory_max_pool_with_offsets(%x; {1})\n"
          "  %b = _low_memory_max_pool_backward(%g, %o; input_size=[1,{2}], {1})\n"
          "  return %a, %b\n}}\n",
          g_type, window, width);
      const auto row = [&](std::vector<double> parts) {
        Array a(DType::f32, {1, planes, 1, width});
        for (int64_t p = 0; p < planes; ++p)
          for (int64_t k = 0; k < 3; ++k) a.f[p * width + k * dilation] = parts[k];
        return a;
      };
      Inputs in = {{"x", row({0, 1, 0})}, {"g", row({big, -big, 1})}};
      for (const Array& y : by_compiled(text, in).results) EXPECT_EQ(y.f, row({0, 1, 0}).f) << text;
      in.at("g") = row({big, 1, -big});
      for (const Array& y : by_compiled(text, in).results) EXPECT_EQ(y.f, row({0, 0, 0}).f) << text;
    }
}

TEST(WriteOrder, averages_add_in_order) {
  const double big = 134217728;
  const Arrays y = by_compiled(
                       "graph @main(%x: input f32[1,1,1,3], %g: input f32[1,1,1,3]) {\n"
                       "  %a = avg_pool2d_backward(%g, %x; kernel_size=[1,3], stride=[1,1], "
                       "padding=[0,1], ceil_mode=false, count_include_pad=true, "
                       "divisor_override=1)\n  return %a\n}\n",
                       {{"x", floats(DType::f32, {1, 1, 1, 3}, {0, 0, 0})},
                        {"g", floats(DType::f32, {1, 1, 1, 3}, {big, -big, 1})}})
                       .results;
  EXPECT_EQ(y[0].f, (std::vector<double>{0, 1, -big}));
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
