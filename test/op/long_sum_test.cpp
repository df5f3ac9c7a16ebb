// Sums of many numbers: the error is that of a block of fixed length, at every length. Of equal
// numbers, whose roundings all go one way, and of random ones; against sums in float64.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "test/sample/both_engines.h"

namespace cleave::test {
namespace {

Array equal(std::vector<int64_t> shape, double value = 0.1) {
  Array a(DType::f32, std::move(shape));
  for (double& x : a.f) x = static_cast<float>(value);
  return a;
}

// In [0, 1).
Array positive(std::vector<int64_t> shape) {
  Array a = scattered(DType::f32, std::move(shape), 7);
  for (double& x : a.f) x = std::abs(x);
  return a;
}

std::string shape_text(const std::vector<int64_t>& shape) {
  return fmt::format("f32[{}]", fmt::join(shape, ","));
}

// The results of calls on %x, the last of which is %y.
Array compiled(const std::string& calls, const Inputs& inputs) {
  std::string head;
  for (const auto& [name, a] : inputs)
    head += fmt::format("{}%{}: input {}", head.empty() ? "" : ", ", name,
                        a.dtype == DType::i64 ? fmt::format("i64[{}]", fmt::join(a.shape, ","))
                                              : shape_text(a.shape));
  const CompiledRun run =
      by_compiled("graph @main(" + head + ") {\n  " + calls + "\n  return %y\n}\n", inputs);
  EXPECT_TRUE(run.status.ok()) << (run.status.ok() ? "" : run.status.failure().message);
  return run.status.ok() ? run.results[0] : Array(DType::f32, {1});
}

double sum_of(const Array& a) { return std::accumulate(a.f.begin(), a.f.end(), 0.0L); }

double relative(double got, double want) { return std::abs(got / want - 1); }

constexpr double bound = 4e-7;  // of a block of 16 equal numbers, and what follows it

TEST(LongSum, of_all_elements) {
  const Array most = equal({1 << 24});
  EXPECT_LT(relative(compiled("%y = sum(%x)", {{"x", most}}).f[0], sum_of(most)), bound);
  for (const int64_t n : {1000, 100000, 1 << 20})
    for (const Array& x : {equal({n}), positive({n})}) {
      const double want = sum_of(x);
      EXPECT_LT(relative(compiled("%y = sum(%x)", {{"x", x}}).f[0], want), bound) << n;
      const double count = static_cast<double>(n);
      EXPECT_LT(relative(compiled("%y = mean(%x)", {{"x", x}}).f[0], want / count), bound) << n;
      double squares = 0;
      for (const double v : x.f) squares += v * v;
      EXPECT_LT(
          relative(compiled("%y = linalg_vector_norm(%x)", {{"x", x}}).f[0], std::sqrt(squares)),
          bound)
          << n;
    }
}

// Each way of group_plan.h: rows, lanes, columns, chunks; one run and several.
TEST(LongSum, of_some_dims) {
  struct Case {
    std::vector<int64_t> shape;
    std::string dims;
  };
  for (const auto& [shape, dims] : std::vector<Case>{{{40, 100000}, "1"},
                                                     {{100000, 40}, "0"},
                                                     {{100000, 3}, "0"},
                                                     {{400, 8, 1000}, "0,2"},
                                                     {{3, 100000, 20}, "1"},
                                                     {{2, 30, 40000, 9}, "0,2"},
                                                     {{40, 16, 2000, 32}, "0,2"}}) {
    const std::string call = fmt::format("%y = mean(%x; dim=[{}])", dims);
    const Array y = compiled(call, {{"x", equal(shape)}});
    for (const double v : y.f) ASSERT_LT(relative(v, 0.1f), bound) << dims;
  }
}

TEST(LongSum, cumulative) {
  const int64_t n = 1 << 24;
  const Array y = compiled("%y = cumsum(%x; dim=0)", {{"x", equal({n})}});
  for (int64_t k = 0; k < n; k += 9973)
    ASSERT_LT(relative(y.f[static_cast<size_t>(k)], 0.1f * static_cast<double>(k + 1)), 1e-7);
  // In f64 what each addition rounds away is kept: one by one, 1e-13 would be lost here.
  const Array d = compiled("%y = cumsum(%x; dim=0, dtype=f64)", {{"x", equal({1 << 20})}});
  for (int64_t k = 0; k < 1 << 20; k += 997)
    ASSERT_LT(relative(d.f[static_cast<size_t>(k)], double{0.1f} * static_cast<double>(k + 1)),
              3e-16);
  const Array p = compiled("%y = cumprod(%x; dim=0)", {{"x", equal({100000}, 1.0001f)}});
  EXPECT_LT(relative(p.f.back(), std::pow(static_cast<double>(1.0001f), 100000)), 1e-7);
}

// Softmax over a long row, and losses over many.
TEST(LongSum, in_losses) {
  const int64_t n = 1 << 20;
  const Array y = compiled("%y = _softmax(%x; dim=0, half_to_float=false)", {{"x", equal({n})}});
  EXPECT_LT(relative(y.f[12345], 1.0 / static_cast<double>(n)), bound);
  const Array m = compiled("%d = sub(%x, %z)\n  %q = mul(%d, %d)\n  %y = mean(%q)",
                           {{"x", equal({n})}, {"z", equal({n}, 0.4)}});
  const double d = static_cast<double>(0.1f) - static_cast<double>(0.4f);
  EXPECT_LT(relative(m.f[0], d * d), bound);
  const Array l = compiled("%y, %w = nll_loss_forward(%x, %t; reduction=1, ignore_index=-100)",
                           {{"x", equal({n, 4}, -1.3)}, {"t", Array(DType::i64, {n})}});
  EXPECT_LT(relative(l.f[0], 1.3f), bound);
}

// Sums over rows in the gradients of a norm, of a product and of a convolution.
TEST(LongSum, in_gradients) {
  const int64_t n = 200000;
  Inputs in = {{"dy", equal({n, 20})},
               {"x", equal({n, 20}, 0.7)},
               {"mean", equal({n, 1}, 0.2)},
               {"rstd", equal({n, 1}, 1)},
               {"w", equal({20}, 1)}};
  const Array dw = compiled(
      "%d, %y, %b = native_layer_norm_backward(%dy, %x, %mean, %rstd, %w, none; "
      "normalized_shape=[20], output_mask=[false,true,false])",
      in);
  const double normed = static_cast<double>(0.7f) - static_cast<double>(0.2f);
  for (const double v : dw.f) EXPECT_LT(relative(v, 0.1f * normed * static_cast<double>(n)), bound);
  const int64_t k = 1 << 20;
  const Array p = compiled("%y = mm(%x, %z)", {{"x", equal({3, k})}, {"z", equal({k, 2}, 1)}});
  for (const double v : p.f) EXPECT_LT(relative(v, 0.1f * static_cast<double>(k)), 1e-5);
  const Array c = compiled(
      "%dx, %y, %db = convolution_backward(%dy, %x, %w; bias_sizes=none, stride=[1,1], "
      "padding=[0,0], dilation=[1,1], transposed=false, output_padding=[0,0], groups=1, "
      "output_mask=[false,true,false])",
      {{"dy", equal({100, 1, 100, 100})},
       {"x", equal({100, 1, 100, 100}, 1)},
       {"w", equal({1, 1, 1, 1})}});
  EXPECT_LT(relative(c.f[0], 0.1f * 1e6), 1e-5);
}

// A row to which very many elements are added, one with few and one with none.
TEST(LongSum, of_steps_that_meet) {
  const int64_t n = 300000;
  Inputs in = {{"x", equal({n, 3})},
               {"i", Array(DType::i64, {n})},
               {"s", equal({4, 3}, 5)},
               {"j", Array(DType::i64, {n, 3})}};
  for (int64_t k = 0; k < n; ++k) {
    in.at("i").i[static_cast<size_t>(k)] = k % 3000 == 7 ? 3 : 1;
    for (int64_t c = 0; c < 3; ++c)
      in.at("j").i[static_cast<size_t>(k * 3 + c)] = k % 3000 == 7 ? c : 3;
  }
  const double many = static_cast<double>(n - n / 3000) * 0.1f, few = 100 * 0.1f;
  const auto expect = [&](const std::string& call, const std::vector<std::string>& names,
                          const std::vector<double>& want) {
    Inputs given;
    for (const std::string& name : names) given.emplace(name, in.at(name));
    const Array y = compiled(call, given);
    for (size_t k = 0; k < want.size(); ++k) {
      if (want[k] < 20)
        EXPECT_NEAR(y.f[k], want[k], 1e-4) << call << " " << k;
      else
        EXPECT_LT(relative(y.f[k], want[k]), 1e-7) << call << " " << k;
    }
  };
  expect(
      "%y = embedding_dense_backward(%x, %i; num_weights=4, padding_idx=-1, "
      "scale_grad_by_freq=false)",
      {"x", "i"}, {0, 0, 0, many, many, many, 0, 0, 0, few, few, few});
  const double to_many = many + 5, to_few = few + 5;
  const std::vector<double> added = {5, 5, 5, to_many, to_many, to_many,
                                     5, 5, 5, to_few,  to_few,  to_few};
  expect("%y = index_add(%s, %i, %x; dim=0)", {"s", "i", "x"}, added);
  expect("%y = index_put(%s, [%i], %x; accumulate=true)", {"s", "i", "x"}, added);
  expect("%y = scatter_add(%s, %j, %x; dim=0)", {"s", "j", "x"},
         {to_few, 5, 5, 5, to_few, 5, 5, 5, to_few, to_many, to_many, to_many});
}

// Threads, interpreted kernels and the reference agree where blocks and parts meet their ends.
TEST(LongSum, bits_are_the_same_everywhere) {
  for (const auto& [shape, dims] :
       std::vector<std::pair<std::vector<int64_t>, std::string>>{{{3, 1025}, "1"},
                                                                 {{8193, 17}, "0"},
                                                                 {{17000, 16}, "0"},
                                                                 {{9, 130, 16}, "0,1"},
                                                                 {{130, 9, 7}, "0,1"}})
    by_both("graph @main(%x: input " + shape_text(shape) + ") {\n  %s = sum(%x; dim=[" + dims +
                "], keepdim=true)\n  %y = mul(%x, %s)\n  %z = sum(%y; dim=[" + dims +
                "])\n  return %s, %y, %z\n}\n",
            {{"x", scattered(DType::f32, shape, 5)}}, 0.2);
  Inputs in = {{"x", scattered(DType::f32, {1000, 37}, 3)}, {"i", Array(DType::i64, {1000})}};
  for (int64_t k = 0; k < 1000; ++k) in.at("i").i[static_cast<size_t>(k)] = (k * k) % 7;
  by_both(
      "graph @main(%x: input f32[1000,37], %i: input i64[1000]) {\n  %y = "
      "embedding_dense_backward(%x, %i; num_weights=9, padding_idx=4, "
      "scale_grad_by_freq=false)\n  return %y\n}\n",
      in, 1e-4);
}

}  // namespace
}  // namespace cleave::test
