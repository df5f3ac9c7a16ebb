// Products of bf16 and f16, also with operands that are f32 in memory: every kernel that this
// processor can run, against sums in double.
// tests: gemm_block_avx512bf16.cpp gemm_block_amx.cpp
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include "runtime/gemm.h"
#include "runtime/half.h"
#include "test/runtime/gemm_kernels.h"

namespace cleave::runtime {
namespace {

using test::Layout, test::layouts, test::kernels_for, test::make_scratch, test::Scratch,
    test::strides_of;

// [rows, columns] as H and as the f32 that rounds to it, in equal layouts.
template <class H>
struct Matrix {
  int64_t row = 0, column = 0;
  std::vector<H> narrow;
  std::vector<float> wide;

  Matrix(int64_t rows, int64_t columns, Layout layout, uint32_t seed)
      : row(strides_of(layout, rows, columns).row),
        column(strides_of(layout, rows, columns).column) {
    const auto size = static_cast<size_t>(rows * row + columns * column + 16);
    std::mt19937 random(seed);
    std::normal_distribution<float> number;
    for (size_t i = 0; i < size; ++i) {
      wide.push_back(number(random));
      narrow.push_back(H(wide.back()));
    }
  }
  double at(int64_t i, int64_t j) const {
    return static_cast<float>(narrow[static_cast<size_t>(i * row + j * column)]);
  }
};

struct Case {
  int64_t m, n, k;
  Layout a = Layout::rows, b = Layout::rows;
  bool has_c_in = false;
  bool row_vector = false;
  double alpha = 1, beta = 1;
};

// C by one kernel; operands f32 or not.
template <class H>
std::vector<H> product(const GemmBlockKernel& kernel, const Case& c, const Matrix<H>& a,
                       const Matrix<H>& b, const Matrix<H>& c_in, bool a_is_f32, bool b_is_f32) {
  const Scratch scratch = make_scratch(kernel.scratch_bytes(c.m, c.n, c.k));
  std::vector<H> out(static_cast<size_t>(c.m * (c.n + 3)), H(7.0f));
  kernel.run({.a = a_is_f32 ? static_cast<const void*>(a.wide.data()) : a.narrow.data(),
              .b = b_is_f32 ? static_cast<const void*>(b.wide.data()) : b.narrow.data(),
              .c_in = c.has_c_in ? c_in.narrow.data() : nullptr,
              .c = out.data(),
              .scratch = scratch.get(),
              .m = c.m,
              .n = c.n,
              .k = c.k,
              .a_row = a.row,
              .a_col = a.column,
              .b_row = b.row,
              .b_col = b.column,
              .c_in_row = c.row_vector ? 0 : c_in.row,
              .c_in_col = c_in.column,
              .c_row = c.n + 3,
              .alpha = c.alpha,
              .beta = c.beta,
              .a_stored = a_is_f32 ? std::optional(DType::f32) : std::nullopt,
              .b_stored = b_is_f32 ? std::optional(DType::f32) : std::nullopt});
  return out;
}

// Half a unit in the last place of H for the rounding, k additions in f32 in any order, and numbers
// that are too small for H or treated as 0.
template <class H>
double bound(double value, double size, int64_t k) {
  const double unit = std::is_same_v<H, Bf16> ? 0x1p-8 : 0x1p-11;
  const double least = std::is_same_v<H, Bf16> ? static_cast<double>(k + 1) * 0x1p-126 : 0x1p-25;
  return least + unit * std::abs(value) +
         1.01 * static_cast<double>(k + 4) * 0x1p-24 * size * (1 + unit);
}

template <class H>
void expect_sums(DType dtype, const Case& c) {
  SCOPED_TRACE(testing::Message() << c.m << " x " << c.k << " x " << c.n << " layouts "
                                  << static_cast<int>(c.a) << " " << static_cast<int>(c.b)
                                  << " alpha " << c.alpha << " beta " << c.beta);
  const Matrix<H> a(c.m, c.k, c.a, 1), b(c.k, c.n, c.b, 2), c_in(c.m, c.n, Layout::rows, 3);
  size_t number = 0;
  for (const GemmBlockKernel& kernel : kernels_for(dtype)) {
    SCOPED_TRACE(testing::Message() << "kernel " << number++);
    const std::vector<H> got = product(kernel, c, a, b, c_in, false, false);
    for (int64_t i = 0; i < c.m; ++i) {
      for (int64_t j = 0; j < c.n; ++j) {
        double sum = 0, size = 0;
        for (int64_t p = 0; p < c.k; ++p) {
          sum += a.at(i, p) * b.at(p, j);
          size += std::abs(a.at(i, p) * b.at(p, j));
        }
        sum *= c.alpha, size *= std::abs(c.alpha);
        if (c.has_c_in) {
          const double added = c.beta * c_in.at(c.row_vector ? 0 : i, j);
          sum += added, size += std::abs(added);
        }
        const double have = static_cast<float>(got[static_cast<size_t>(i * (c.n + 3) + j)]);
        ASSERT_LE(std::abs(have - sum), bound<H>(sum, size, c.k)) << "at " << i << " " << j;
      }
      for (int64_t j = c.n; j < c.n + 3; ++j)  // nothing is written after a row
        ASSERT_EQ(static_cast<float>(got[static_cast<size_t>(i * (c.n + 3) + j)]), 7.0f);
    }
    for (const auto& [a_is_f32, b_is_f32] : {std::pair{true, false}, {false, true}, {true, true}}) {
      const std::vector<H> wide = product(kernel, c, a, b, c_in, a_is_f32, b_is_f32);
      ASSERT_EQ(0, std::memcmp(wide.data(), got.data(), got.size() * sizeof(H)))
          << "f32 that is rounded while it is packed gives other bits";
    }
  }
}

void expect_product(const Case& c) {
  expect_sums<Bf16>(DType::bf16, c);
  expect_sums<F16>(DType::f16, c);
}

TEST(Gemm16Bit, EveryLayout) { test::for_each_layout<Case>(expect_product); }

TEST(Gemm16Bit, OddSizes) {
  for (const int64_t m : {1, 2, 12, 13, 16, 17, 25, 49})
    for (const int64_t n : {1, 15, 16, 31, 32, 33, 48})
      for (const int64_t k : {1, 3, 31, 33})
        for (const Layout layout : {Layout::rows, Layout::columns})
          expect_sums<Bf16>(DType::bf16, {m, n, k, layout, layout});
}

TEST(Gemm16Bit, LongSums) {
  for (const int64_t k : {383, 511, 513, 767, 768, 769, 1537, 2000})
    for (const Layout layout : layouts) {
      expect_product({14, 70, k, layout, layout});
      expect_product({14, 70, k, layout, layout, true, true});
      expect_product({14, 70, k, layout, layout, true, false, 0.5, -3});
    }
  for (const int64_t k : {32769, 49152, 49153, 100000}) {  // spans
    expect_product({3, 35, k, Layout::rows, Layout::columns});
    expect_product({3, 35, k, Layout::rows, Layout::rows, true, false, 0.5, -3});
  }
}

TEST(Gemm16Bit, Ends) {
  for (const bool row_vector : {false, true})
    for (const auto& [alpha, beta] : {std::pair{1.0, 1.0}, {1.0, 0.25}, {-2.0, 1.0}, {0.0, 1.0}})
      expect_product({37, 96, 50, Layout::rows, Layout::columns, true, row_vector, alpha, beta});
  expect_product({37, 96, 50, Layout::rows, Layout::rows, false, false, 3.0});
}

// A source gives bf16 numbers as f32: the same bits as from memory.
TEST(Gemm16Bit, PanelsMayComeFromASource) {
  for (const auto& [m, n, k] : {std::array<int64_t, 3>{3, 100, 40}, {45, 77, 601}, {17, 32, 1}})
    for (const GemmBlockKernel& kernel : kernels_for(DType::bf16)) {
      const Matrix<Bf16> a(m, k, Layout::rows, 1), b(k, n, Layout::rows, 2);
      const Case c{m, n, k};
      const std::vector<Bf16> want = product(kernel, c, a, b, a, false, false);
      const std::vector<float> numbers(b.narrow.begin(), b.narrow.end());
      const test::MatrixPanels source{numbers.data(), b.row, k, n, kernel.nr};
      const Scratch scratch = make_scratch(kernel.scratch_bytes(m, n, k));
      std::vector<Bf16> got(want.size(), Bf16(7.0f));
      kernel.run({.a = a.narrow.data(),
                  .c = got.data(),
                  .scratch = scratch.get(),
                  .m = m,
                  .n = n,
                  .k = k,
                  .a_row = a.row,
                  .a_col = a.column,
                  .c_row = n + 3,
                  .panels = {test::MatrixPanels::pack, &source, 0}});
      for (size_t i = 0; i < want.size(); ++i)
        ASSERT_EQ(static_cast<float>(got[i]), static_cast<float>(want[i]))
            << kernel.mr << " rows a tile: " << m << " x " << k << " x " << n << " at " << i;
    }
}

TEST(Gemm16Bit, EmptySums) {
  expect_product({5, 40, 0});
  expect_product({5, 40, 0, Layout::rows, Layout::rows, true, false, 1, 2});
}

// One infinity or NaN in A or B affects exactly the row or column that reads it, at both positions
// of a pair.
TEST(Gemm16Bit, NotANumberAndInfinityPassThrough) {
  constexpr int64_t m = 26, n = 70, k = 71;
  for (const float special : {std::numeric_limits<float>::infinity(), std::nanf("")})
    for (const int64_t p : {0L, 1L, 33L, 70L})
      for (const GemmBlockKernel& kernel : kernels_for(DType::bf16)) {
        for (const bool is_f32 : {false, true}) {
          Matrix<Bf16> a(m, k, Layout::rows, 1), b(k, n, Layout::columns, 2);
          const Matrix<Bf16> none(1, 1, Layout::rows, 3);
          const auto in_a = static_cast<size_t>(13 * a.row + p);
          a.wide[in_a] = special, a.narrow[in_a] = Bf16(special);
          const auto in_b = static_cast<size_t>(p + 65 * b.column);
          b.wide[in_b] = special, b.narrow[in_b] = Bf16(special);
          const std::vector<Bf16> c = product(kernel, {m, n, k}, a, b, none, is_f32, is_f32);
          for (int64_t i = 0; i < m; ++i)
            for (int64_t j = 0; j < n; ++j) {
              const auto have = static_cast<float>(c[static_cast<size_t>(i * (n + 3) + j)]);
              ASSERT_EQ(std::isfinite(have), i != 13 && j != 65) << i << " " << j << " " << p;
              if (std::isnan(special) && !std::isfinite(have)) { ASSERT_TRUE(std::isnan(have)); }
            }
        }
      }
}

// A batch whose operands are f32, in pieces: the same bits on any number of threads.
TEST(Gemm16Bit, ThreadsDontChangeBits) {
  for (const auto& [batch, m, n, k] :
       {std::array<int64_t, 4>{1, 515, 700, 900}, {3, 130, 65, 33}, {1, 40, 2100, 1601}}) {
    GemmSpec spec{.dtype = DType::bf16,
                  .batch = batch,
                  .m = m,
                  .n = n,
                  .k = k,
                  .a_batch = m * k,
                  .a_row = 1,
                  .a_col = m,
                  .b_batch = 0,
                  .b_row = 1,
                  .b_col = k,
                  .b_stored = DType::f32};
    const auto gemm = value_or_throw(Gemm::make(spec, Target::here()));
    const Matrix<Bf16> a(batch * m, k, Layout::rows, 1), b(k, n, Layout::rows, 2);
    std::vector<std::vector<Bf16>> results;
    for (const int threads : {1, 2, 3}) {
      const Scratch scratch = make_scratch(gemm->scratch_bytes());
      results.emplace_back(static_cast<size_t>(batch * m * n));
      gemm->run(a.narrow.data(), b.wide.data(), nullptr, results.back().data(), scratch.get(),
                *make_thread_pool(threads));
      EXPECT_EQ(0, std::memcmp(results.back().data(), results[0].data(),
                               results[0].size() * sizeof(Bf16)));
    }
  }
}

TEST(Gemm16Bit, OnlyHalvesAreReadAsF32) {
  const auto made = Gemm::make(
      {.dtype = DType::f64, .m = 2, .n = 2, .k = 2, .a_stored = DType::f32}, Target::here());
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.failure().kind, ErrorKind::bug);
}

}  // namespace
}  // namespace cleave::runtime
