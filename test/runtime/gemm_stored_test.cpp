// Operands with another type in memory: the same bits as a product of converted operands, in every
// kernel that this processor can run; and exact sums of 8-bit integers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "runtime/gemm.h"
#include "runtime/half.h"
#include "test/runtime/gemm_kernels.h"

namespace cleave::runtime {
namespace {

using test::kernels_for, test::Layout, test::layouts, test::make_scratch, test::Scratch;
using test::strides_of;

// [rows, columns] as X and as what X converts to, in equal layouts.
template <class X, class S>
struct Matrix {
  int64_t row, column;
  std::vector<X> stored;
  std::vector<S> converted;

  Matrix(int64_t rows, int64_t columns, Layout layout, uint32_t seed)
      : row(strides_of(layout, rows, columns).row),
        column(strides_of(layout, rows, columns).column) {
    std::mt19937 random(seed);
    std::uniform_int_distribution<int> number(std::is_same_v<X, uint8_t> ? 0 : -128,
                                              std::is_same_v<X, uint8_t> ? 255 : 127);
    // Exactly the elements, so that sanitizers find reads beyond them.
    const auto size = static_cast<size_t>((rows - 1) * row + (columns - 1) * column + 1);
    for (size_t i = 0; i < size; ++i) {
      stored.push_back(static_cast<X>(static_cast<float>(number(random))));
      if constexpr (std::is_integral_v<S>)
        converted.push_back(static_cast<S>(stored.back()));
      else
        converted.push_back(static_cast<S>(static_cast<float>(stored.back())));
    }
  }
};

struct Case {
  int64_t m, n, k;
  Layout a = Layout::rows, b = Layout::rows;
};

template <class X, class S>
void expect_same_bits(DType stored, DType dtype, const Case& c) {
  SCOPED_TRACE(testing::Message() << name_of(stored) << " in " << name_of(dtype) << ": " << c.m
                                  << " x " << c.k << " x " << c.n << " layouts "
                                  << static_cast<int>(c.a) << " " << static_cast<int>(c.b));
  EXPECT_TRUE(gemm_reads_as(stored, dtype));
  const Matrix<X, S> a(c.m, c.k, c.a, 1), b(c.k, c.n, c.b, 2);
  for (const GemmBlockKernel& kernel : kernels_for(dtype)) {
    const Scratch scratch = make_scratch(kernel.scratch_bytes(c.m, c.n, c.k));
    const auto product = [&](bool a_is_stored, bool b_is_stored) {
      std::vector<S> out(static_cast<size_t>(c.m * c.n));
      GemmBlock block{.c = out.data(),
                      .scratch = scratch.get(),
                      .m = c.m,
                      .n = c.n,
                      .k = c.k,
                      .a_row = a.row,
                      .a_col = a.column,
                      .b_row = b.row,
                      .b_col = b.column,
                      .c_row = c.n};
      block.a = a.converted.data(), block.b = b.converted.data();
      if (a_is_stored) block.a = a.stored.data(), block.a_stored = stored;
      if (b_is_stored) block.b = b.stored.data(), block.b_stored = stored;
      kernel.run(block);
      return out;
    };
    const std::vector<S> want = product(false, false);
    for (const auto& [in_a, in_b] : {std::pair{true, false}, {false, true}, {true, true}})
      EXPECT_EQ(0, std::memcmp(product(in_a, in_b).data(), want.data(), want.size() * sizeof(S)))
          << in_a << in_b;
  }
}

void expect_all(const Case& c) {
  expect_same_bits<int8_t, int32_t>(DType::i8, DType::i32, c);
  expect_same_bits<uint8_t, int32_t>(DType::u8, DType::i32, c);
  expect_same_bits<int8_t, float>(DType::i8, DType::f32, c);
  expect_same_bits<uint8_t, float>(DType::u8, DType::f32, c);
  expect_same_bits<Bf16, float>(DType::bf16, DType::f32, c);
  expect_same_bits<F16, float>(DType::f16, DType::f32, c);
  expect_same_bits<int8_t, Bf16>(DType::i8, DType::bf16, c);
  expect_same_bits<uint8_t, Bf16>(DType::u8, DType::bf16, c);
  expect_same_bits<int8_t, F16>(DType::i8, DType::f16, c);
  expect_same_bits<uint8_t, F16>(DType::u8, DType::f16, c);
}

TEST(GemmStored, EveryLayout) { test::for_each_layout<Case>(expect_all); }

// C = A B + C_in in i32 by every kernel for such operands, beside sums one by one.
template <class A, class B>
void expect_exact_sums(DType a_stored, DType b_stored, const Case& c, bool has_c_in) {
  SCOPED_TRACE(testing::Message() << name_of(a_stored) << " " << name_of(b_stored) << ": " << c.m
                                  << " x " << c.k << " x " << c.n << " layouts "
                                  << static_cast<int>(c.a) << " " << static_cast<int>(c.b));
  const Matrix<A, int32_t> a(c.m, c.k, c.a, 3);
  const Matrix<B, int32_t> b(c.k, c.n, c.b, 4);
  std::vector<int32_t> want;
  for (int64_t i = 0; i < c.m; ++i)
    for (int64_t j = 0; j < c.n; ++j) {
      int32_t sum = has_c_in ? static_cast<int32_t>(7 * j - 100) : 0;
      for (int64_t p = 0; p < c.k; ++p)
        sum += a.converted[static_cast<size_t>(i * a.row + p * a.column)] *
               b.converted[static_cast<size_t>(p * b.row + j * b.column)];
      want.push_back(sum);
    }
  std::vector<int32_t> c_in;
  for (int64_t j = 0; j < c.n; ++j) c_in.push_back(static_cast<int32_t>(7 * j - 100));
  for (const Target& target : cleave::test::targets_here()) {
    const GemmBlockKernel kernel = gemm_bytes_kernel(a_stored, b_stored, target.set);
    const Scratch scratch = make_scratch(kernel.scratch_bytes(c.m, c.n, c.k));
    std::vector<int32_t> out(want.size());
    kernel.run({.a = a.stored.data(),
                .b = b.stored.data(),
                .c_in = has_c_in ? c_in.data() : nullptr,
                .c = out.data(),
                .scratch = scratch.get(),
                .m = c.m,
                .n = c.n,
                .k = c.k,
                .a_row = a.row,
                .a_col = a.column,
                .b_row = b.row,
                .b_col = b.column,
                .c_in_row = 0,
                .c_in_col = 1,
                .c_row = c.n,
                .a_stored = a_stored,
                .b_stored = b_stored});
    EXPECT_EQ(out, want) << target.text();
  }
}

void expect_exact_sums_of_all(const Case& c) {
  for (const bool has_c_in : {false, true}) {
    expect_exact_sums<int8_t, int8_t>(DType::i8, DType::i8, c, has_c_in);
    expect_exact_sums<uint8_t, int8_t>(DType::u8, DType::i8, c, has_c_in);
    expect_exact_sums<int8_t, uint8_t>(DType::i8, DType::u8, c, has_c_in);
    expect_exact_sums<uint8_t, uint8_t>(DType::u8, DType::u8, c, has_c_in);
  }
}

TEST(GemmStored, SumsOfBytesAreExact) {
  test::for_each_layout<Case>(expect_exact_sums_of_all);
  for (const int64_t m : {1, 13, 64})
    for (const int64_t n : {1, 17, 32, 64})
      for (const int64_t k : {3, 256, 1030, 2300})
        for (const Layout layout : layouts) expect_exact_sums_of_all({m, n, k, layout, layout});
}

// -128 * -128 and 255 * 255 in every place: no partial sum may saturate.
TEST(GemmStored, LargestBytesDontSaturate) {
  constexpr int64_t m = 33, n = 33, k = 200;
  const std::vector<int8_t> least(m * k, -128);
  const std::vector<uint8_t> most(m * k, 255);
  for (const Target& target : cleave::test::targets_here())
    for (const bool is_signed : {true, false}) {
      const DType stored = is_signed ? DType::i8 : DType::u8;
      const GemmBlockKernel kernel = gemm_bytes_kernel(stored, stored, target.set);
      const Scratch scratch = make_scratch(kernel.scratch_bytes(m, n, k));
      std::vector<int32_t> out(m * n);
      const void* const at = is_signed ? static_cast<const void*>(least.data()) : most.data();
      kernel.run({.a = at,
                  .b = at,
                  .c = out.data(),
                  .scratch = scratch.get(),
                  .m = m,
                  .n = n,
                  .k = k,
                  .a_row = k,
                  .a_col = 1,
                  .b_row = n,
                  .b_col = 1,
                  .c_row = n,
                  .a_stored = stored,
                  .b_stored = stored});
      const int32_t want = k * (is_signed ? 128 * 128 : 255 * 255);
      EXPECT_EQ(out, std::vector<int32_t>(m * n, want)) << target.text();
    }
}

TEST(GemmStored, FewRowsAndLongSums) {
  for (const int64_t m : {1, 13})
    for (const int64_t k : {33, 769, 2000})
      for (const Layout layout : layouts) expect_all({m, 70, k, layout, layout});
}

TEST(GemmStored, ScaledSumsAreRoundedAtEachStep) {
  std::vector<GemmBlockKernel> kernels;
  for (const Target& target : cleave::test::targets_here())
    kernels.push_back(gemm_scaled_kernel(target.set));
  for (const int64_t k : {0L, 5L, 2000L}) {
    constexpr int64_t m = 14, n = 75;
    const Matrix<int8_t, int32_t> a(m, std::max(k, int64_t{1}), Layout::rows, 1),
        b(std::max(k, int64_t{1}), n, Layout::columns, 2);
    std::vector<float> scale, bias;
    for (int64_t i = 0; i < n; ++i) scale.push_back(1.0f / static_cast<float>(3 + i));
    for (int64_t i = 0; i < n; ++i) bias.push_back(0.1f * static_cast<float>(i));
    for (const GemmBlockKernel& kernel : kernels) {
      const Scratch scratch = make_scratch(kernel.scratch_bytes(m, n, k));
      std::vector<float> out(m * n);
      kernel.run({.a = a.stored.data(),
                  .b = b.stored.data(),
                  .c_in = bias.data(),
                  .c = out.data(),
                  .scratch = scratch.get(),
                  .m = m,
                  .n = n,
                  .k = k,
                  .a_row = a.row,
                  .a_col = a.column,
                  .b_row = b.row,
                  .b_col = b.column,
                  .c_in_col = 1,
                  .c_row = n,
                  .alpha = 0.7,
                  .a_stored = DType::i8,
                  .b_stored = DType::i8,
                  .scales = {{scale.data(), 1, 0}, {scale.data(), 0, 1}}});
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) {
          int32_t sum = 0;
          for (int64_t p = 0; p < k; ++p)
            sum += a.converted[static_cast<size_t>(i * a.row + p)] *
                   b.converted[static_cast<size_t>(p + j * b.column)];
          float want = static_cast<float>(sum) * 0.7f;
          want *= scale[static_cast<size_t>(i)];
          want *= scale[static_cast<size_t>(j)];
          want += bias[static_cast<size_t>(j)];
          ASSERT_EQ(out[static_cast<size_t>(i * n + j)], want) << i << " " << j << " of k " << k;
        }
    }
  }
}

TEST(GemmStored, WhatIsNotReadIsRefused) {
  for (const auto& [dtype, stored] :
       {std::pair{DType::f32, DType::f64}, {DType::f64, DType::i8}, {DType::i8, DType::i32}}) {
    const auto made =
        Gemm::make({.dtype = dtype, .m = 2, .n = 2, .k = 2, .b_stored = stored}, Target::here());
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.failure().kind, ErrorKind::bug);
  }
}

}  // namespace
}  // namespace cleave::runtime
