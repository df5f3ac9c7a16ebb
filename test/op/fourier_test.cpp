// Fourier transforms of many lengths against sums over all places, and what their parts take.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "interp/interpret.h"
#include "ir/builder.h"
#include "op/fourier_transform.h"
#include "op/registry.h"
#include "test/sample/both_engines.h"

namespace cleave::test {
namespace {

using fourier::Transform;

const OpRegistry& registry() {
  static const OpRegistry ops = value_or_bug(core_ops());
  return ops;
}

// The graph of one transform of [rows,*], by its parts.
template <class Make>
Graph parts_of(const Shape& shape, const Make& make) {
  Graph g("main");
  const ValueId x = value_or_bug(g.add_placeholder(Role::input, "x", Type(DType::f64, shape)));
  Builder b(g, registry());
  const ValueId y = make(b, x);
  EXPECT_TRUE(b.status().ok()) << (b.status().ok() ? "" : b.status().failure().message);
  g.add_return({y});
  return g;
}

Array run(const Graph& g, const Array& x) { return value_or_bug(interpret(g, {{"x", x}}))[0]; }

int64_t most_elements(const Graph& g) {
  int64_t most = 0;
  for (const NodeId n : g.order()) most = std::max(most, g.type(g.node(n).out(0)).numel().value());
  return most;
}

// Result k of row `row`, of pairs [rows,n,2].
std::pair<double, double> summed(const Array& x, int64_t row, int64_t n, int64_t k, int sign) {
  long double re = 0, im = 0;
  for (int64_t j = 0; j < n; ++j) {
    const double angle =
        sign * 2 * std::numbers::pi * static_cast<double>(j * k % n) / static_cast<double>(n);
    const double a = x.f[static_cast<size_t>(2 * (row * n + j))];
    const double b = x.f[static_cast<size_t>(2 * (row * n + j) + 1)];
    re += a * std::cos(angle) - b * std::sin(angle);
    im += a * std::sin(angle) + b * std::cos(angle);
  }
  return {static_cast<double>(re), static_cast<double>(im)};
}

void expect_transform(int64_t n, int64_t rows, int sign, int64_t step) {
  SCOPED_TRACE(fmt::format("length {}, sign {}", n, sign));
  const Array x = scattered(DType::f64, {rows, n, 2}, 3);
  const Graph g = parts_of({Dim(rows), Dim(n), Dim(2)}, [&](Builder& b, ValueId v) {
    return fourier::of_pairs(b, v, {n, sign, 0.5});
  });
  const Array y = run(g, x);
  ASSERT_EQ(y.shape, x.shape);
  const double tolerance = 1e-13 * std::sqrt(static_cast<double>(n)) * std::log2(n + 2);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t k = 0; k < n; k += step) {
      const auto [re, im] = summed(x, row, n, k, sign);
      const auto at = static_cast<size_t>(2 * (row * n + k));
      ASSERT_NEAR(y.f[at], re / 2, tolerance) << k;
      ASSERT_NEAR(y.f[at + 1], im / 2, tolerance) << k;
    }
}

TEST(Fourier, of_every_kind_of_length) {
  // one product; stages; primes as products; convolutions; their multiples
  for (const int64_t n : {1, 2, 3, 5, 8, 63, 64, 65, 66, 67, 72, 121, 128, 210, 251, 257, 263, 514})
    expect_transform(n, 2, n % 2 == 0 ? 1 : -1, 1);
  expect_transform(67 * 71, 1, -1, 97);
  expect_transform(1024, 1, 1, 31);
}

// Of rows whose results are conjugates of each other.
TEST(Fourier, of_real_rows_and_back) {
  for (const int64_t n : {1, 2, 7, 64, 66, 67, 75, 96, 129, 130, 256, 263, 526}) {
    SCOPED_TRACE(n);
    const int64_t half = n / 2 + 1;
    const Array x = scattered(DType::f64, {2, n}, 5);
    Array pairs(DType::f64, {2, n, 2});
    for (size_t k = 0; k < x.f.size(); ++k) pairs.f[2 * k] = x.f[k];
    const Graph there = parts_of({Dim(2), Dim(n)}, [&](Builder& b, ValueId v) {
      return fourier::of_real(b, v, {n, -1, 1});
    });
    const Array y = run(there, x);
    ASSERT_EQ(y.shape, (std::vector<int64_t>{2, half, 2}));
    for (int64_t row = 0; row < 2; ++row)
      for (int64_t k = 0; k < half; ++k) {
        const auto [re, im] = summed(pairs, row, n, k, -1);
        const auto at = static_cast<size_t>(2 * (row * half + k));
        ASSERT_NEAR(y.f[at], re, 1e-11) << k;
        ASSERT_NEAR(y.f[at + 1], im, 1e-11) << k;
      }
    // Imaginary parts that real rows don't have aren't read.
    Array given = y;
    for (const int64_t row : {0, 1}) {
      given.f[static_cast<size_t>(2 * row * half + 1)] = 7;
      if (n % 2 == 0) given.f[static_cast<size_t>(2 * (row * half + half - 1) + 1)] = -3;
    }
    const Graph back = parts_of({Dim(2), Dim(half), Dim(2)}, [&](Builder& b, ValueId v) {
      return fourier::to_real(b, v, {n, 1, 1.0 / static_cast<double>(n)});
    });
    const Array z = run(back, given);
    for (size_t k = 0; k < x.f.size(); ++k) ASSERT_NEAR(z.f[k], x.f[k], 1e-13) << k;
  }
}

// Neither large powers nor large primes have a table of n x n, or many calls.
TEST(Fourier, of_great_lengths_takes_little) {
  for (const int64_t n : {65536, 10007, 2 * 10007, 1 << 20, 101 * 103, 999983}) {
    SCOPED_TRACE(n);
    const Graph g = parts_of({Dim(1), Dim(n), Dim(2)}, [&](Builder& b, ValueId v) {
      return fourier::of_pairs(b, v, {n, -1, 1});
    });
    EXPECT_LE(most_elements(g), std::max<int64_t>(5 * n, 1 << 18));
    EXPECT_LT(g.node_count(), 1000);
  }
  expect_transform(65536, 1, -1, 4001);
  expect_transform(10007, 1, 1, 601);
}

TEST(Fourier, compiled_in_f32) {
  for (const int64_t n : {4096, 1009}) {
    SCOPED_TRACE(n);
    const Array x = scattered(DType::f32, {2, n, 2}, 9);
    const std::string text = fmt::format(
        "graph @main(%x: input f32[2,{0},2]) {{\n"
        "  %y = fft_c2c(%x; dim=[1], normalization=1)\n  return %y\n}}\n",
        n);
    const CompiledRun got = by_compiled(text, {{"x", x}});
    ASSERT_TRUE(got.status.ok()) << got.status.failure().message;
    const double scale = 1 / std::sqrt(static_cast<double>(n));
    for (int64_t k = 0; k < n; k += 37) {
      const auto [re, im] = summed(x, 1, n, k, -1);
      const auto at = static_cast<size_t>(2 * (n + k));
      ASSERT_NEAR(got.results[0].f[at], re * scale, 2e-6) << k;
      ASSERT_NEAR(got.results[0].f[at + 1], im * scale, 2e-6) << k;
    }
  }
}

}  // namespace
}  // namespace cleave::test
