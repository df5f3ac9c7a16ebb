// Functions against plain formulas, run by the oracle in float64.
// tests: function_product.cpp function_view.cpp function_reduce.cpp function_index.cpp
// tests: function_loss.cpp function_nn.cpp
#include <gtest/gtest.h>

#include <cmath>

#include "test/trace/traced.h"

namespace cleave {
namespace {

using test::array_of;
using test::filled;
using test::run;
using test::traced;

constexpr double infinity = std::numeric_limits<double>::infinity();

HostTensor random(std::vector<int64_t> shape, uint64_t seed = 1) {
  Generator rng(seed);
  return rng.uniform(std::move(shape), -1, 1).to(DType::f64);
}

// f of the given tensors, by the oracle.
Arrays result(const std::vector<HostTensor>& inputs, const TracedFunction& f) {
  std::vector<InputSpec> specs;
  std::map<std::string, Array> values;
  for (size_t k = 0; k < inputs.size(); ++k) {
    specs.push_back({fmt::format("x{}", k), inputs[k].dtype(), inputs[k].shape()});
    values[specs.back().name] = array_of(inputs[k]);
  }
  return run(traced(specs, f), values);
}

void expect_near(const Array& got, const std::vector<int64_t>& shape,
                 const std::vector<double>& want, double tolerance = 1e-12) {
  ASSERT_EQ(got.shape, shape);
  for (size_t k = 0; k < want.size(); ++k) {
    const double x = got.number(static_cast<int64_t>(k));
    if (std::isinf(want[k]))
      EXPECT_EQ(x, want[k]) << k;
    else
      EXPECT_NEAR(x, want[k], tolerance) << k;
  }
}

std::vector<double> numbers(const HostTensor& t) { return t.to_vector<double>(); }

// a [batch,n,k] (or shared) times b [batch,k,m], in plain loops.
std::vector<double> product(const std::vector<double>& a, const std::vector<double>& b,
                            const std::vector<int64_t>& a_batch,
                            const std::vector<int64_t>& b_batch, int64_t n, int64_t k, int64_t m) {
  std::vector<double> out;
  for (size_t g = 0; g < a_batch.size(); ++g)
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < m; ++j) {
        double s = 0;
        for (int64_t l = 0; l < k; ++l)
          s += a[(a_batch[g] * n + i) * k + l] * b[(b_batch[g] * k + l) * m + j];
        out.push_back(s);
      }
  return out;
}

TEST(Matmul, of_all_ranks) {
  const auto mul = [](const Tensor& a, const Tensor& b) { return matmul(a, b); };
  struct Case {
    std::vector<int64_t> a, b, out, a_batch, b_batch;
    int64_t n, k, m;
  };
  const std::vector<Case> cases = {
      {{3}, {3}, {}, {0}, {0}, 1, 3, 1},
      {{2, 3}, {3}, {2}, {0}, {0}, 2, 3, 1},
      {{3}, {3, 4}, {4}, {0}, {0}, 1, 3, 4},
      {{2, 3}, {3, 4}, {2, 4}, {0}, {0}, 2, 3, 4},
      {{2, 5, 3}, {3, 4}, {2, 5, 4}, {0}, {0}, 10, 3, 4},
      {{2, 5, 3}, {3}, {2, 5}, {0}, {0}, 10, 3, 1},
      {{5, 3}, {2, 3, 4}, {2, 5, 4}, {0, 0}, {0, 1}, 5, 3, 4},
      {{3}, {2, 3, 4}, {2, 4}, {0, 0}, {0, 1}, 1, 3, 4},
      {{2, 5, 3}, {2, 3, 4}, {2, 5, 4}, {0, 1}, {0, 1}, 5, 3, 4},
      {{2, 2, 5, 3}, {2, 2, 3, 4}, {2, 2, 5, 4}, {0, 1, 2, 3}, {0, 1, 2, 3}, 5, 3, 4},
      {{2, 1, 5, 3}, {2, 3, 4}, {2, 2, 5, 4}, {0, 0, 1, 1}, {0, 1, 0, 1}, 5, 3, 4},
      {{1, 5, 3}, {2, 3, 4}, {2, 5, 4}, {0, 0}, {0, 1}, 5, 3, 4},
  };
  for (const Case& c : cases) {
    const HostTensor a = random(c.a, 3), b = random(c.b, 4);
    SCOPED_TRACE(a.type_text() + " @ " + b.type_text());
    expect_near(result({a, b}, mul)[0], c.out,
                product(numbers(a), numbers(b), c.a_batch, c.b_batch, c.n, c.k, c.m));
  }
}

TEST(Matmul, linear_is_x_times_the_transposed_weight) {
  const HostTensor x = random({2, 2, 3}), w = random({4, 3}, 2), b = random({4}, 3);
  std::vector<double> want;
  for (int64_t i = 0; i < 4; ++i)
    for (int64_t o = 0; o < 4; ++o) {
      double s = b.number(o);
      for (int64_t k = 0; k < 3; ++k) s += x.number(i * 3 + k) * w.number(o * 3 + k);
      want.push_back(s);
    }
  expect_near(result({x, w, b}, [](const Tensor& a, const Tensor& c,
                                   const Tensor& d) { return linear(a, c, d); })[0],
              {2, 2, 4}, want);
}

TEST(Views, cuts_and_joins) {
  const HostTensor x = HostTensor::from<double>({0, 1, 2, 3, 4, 5}, {2, 3});
  const Arrays out = result({x}, [](const Tensor& a) {
    const Tensors parts = split(a, 2, 1);
    const Tensors chunks = chunk(a, 2, -1);
    return Tensors{parts[0],
                   parts[1],
                   chunks[1],
                   a.select(1, -1),
                   narrow(a, 1, 1, 2),
                   stack({a, a + 10.0}, 1),
                   flip(a, {0}),
                   pad(a, {1, 0}),
                   a.flatten(),
                   t(a),
                   a.unsqueeze(-1).squeeze(2),
                   expand(a.unsqueeze(0), {2, -1, -1}),
                   a.slice(1, 0, 99, 2),
                   reshape(a, {3, -1}),
                   unfold(a, 1, 2, 1)};
  });
  expect_near(out[0], {2, 2}, {0, 1, 3, 4});
  expect_near(out[1], {2, 1}, {2, 5});
  expect_near(out[2], {2, 1}, {2, 5});
  expect_near(out[3], {2}, {2, 5});
  expect_near(out[4], {2, 2}, {1, 2, 4, 5});
  expect_near(out[5], {2, 2, 3}, {0, 1, 2, 10, 11, 12, 3, 4, 5, 13, 14, 15});
  expect_near(out[6], {2, 3}, {3, 4, 5, 0, 1, 2});
  expect_near(out[7], {2, 4}, {0, 0, 1, 2, 0, 3, 4, 5});
  expect_near(out[8], {6}, {0, 1, 2, 3, 4, 5});
  expect_near(out[9], {3, 2}, {0, 3, 1, 4, 2, 5});
  expect_near(out[10], {2, 3}, {0, 1, 2, 3, 4, 5});
  expect_near(out[11], {2, 2, 3}, {0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5});
  expect_near(out[12], {2, 2}, {0, 2, 3, 5});
  expect_near(out[13], {3, 2}, {0, 1, 2, 3, 4, 5});
  expect_near(out[14], {2, 2, 2}, {0, 1, 1, 2, 3, 4, 4, 5});
}

TEST(Views, triangles) {
  const HostTensor x = HostTensor::from<double>({1, 2, 3, 4, 5, 6, 7, 8, 9}, {3, 3});
  const Arrays out = result({x}, [](const Tensor& a) {
    return Tensors{tril(a), triu(a), tril(a, -1), triu(a, 1), tril(a > 0)};
  });
  expect_near(out[0], {3, 3}, {1, 0, 0, 4, 5, 0, 7, 8, 9});
  expect_near(out[1], {3, 3}, {1, 2, 3, 0, 5, 6, 0, 0, 9});
  expect_near(out[2], {3, 3}, {0, 0, 0, 4, 0, 0, 7, 8, 0});
  expect_near(out[3], {3, 3}, {0, 2, 3, 0, 0, 6, 0, 0, 0});
  expect_near(out[4], {3, 3}, {1, 0, 0, 1, 1, 0, 1, 1, 1});
  EXPECT_EQ(out[4].dtype, DType::boolean);
}

TEST(Pointwise, composed_functions) {
  const HostTensor x = HostTensor::from<double>({-2, -0.5, 0.25, 30});
  const Arrays out = result({x}, [](const Tensor& a) {
    return Tensors{silu(a),
                   softplus(a),
                   square(a),
                   clamp(a, -1.0, 2),
                   clamp(a, std::nullopt, 0.0),
                   masked_fill(a, a > 1, -infinity),
                   gelu(a),
                   leaky_relu(a, 0.1),
                   elu(a)};
  });
  const auto each = [&](auto f) {
    std::vector<double> want;
    for (const double v : numbers(x)) want.push_back(f(v));
    return want;
  };
  expect_near(out[0], {4}, each([](double v) { return v / (1 + std::exp(-v)); }));
  expect_near(out[1], {4}, each([](double v) { return std::log1p(std::exp(v)); }), 1e-9);
  expect_near(out[2], {4}, each([](double v) { return v * v; }));
  expect_near(out[3], {4}, {-1, -0.5, 0.25, 2});
  expect_near(out[4], {4}, {-2, -0.5, 0, 0});
  expect_near(out[5], {4}, {-2, -0.5, 0.25, -infinity});
  expect_near(out[6], {4}, each([](double v) { return v * 0.5 * std::erfc(-v / std::sqrt(2.0)); }));
  expect_near(out[7], {4}, {-0.2, -0.05, 0.25, 30});
  expect_near(out[8], {4}, each([](double v) { return v > 0 ? v : std::expm1(v); }));
}

TEST(Reductions, over_some_and_all_dims) {
  const HostTensor x = HostTensor::from<double>({1, 2, 3, 4, 5, 9}, {2, 3});
  const Arrays out = result({x}, [](const Tensor& a) {
    return Tensors{sum(a),          sum(a, 0),    mean(a, {0, 1}), amax(a, -1, true), amin(a),
                   var(a, 1),       var(a, 1, 0), prod(a, 0),      argmax(a, 1),      argmin(a, 0),
                   logsumexp(a, 1), cumsum(a, 1), any(a > 8, 1),   all(a > 1, 1),     all(a > 0)};
  });
  expect_near(out[0], {}, {24});
  expect_near(out[1], {3}, {5, 7, 12});
  expect_near(out[2], {}, {4});
  expect_near(out[3], {2, 1}, {3, 9});
  expect_near(out[4], {}, {1});
  expect_near(out[5], {2}, {1, 7});
  expect_near(out[6], {2}, {2.0 / 3, 14.0 / 3});
  expect_near(out[7], {3}, {4, 10, 27});
  expect_near(out[8], {2}, {2, 2});
  expect_near(out[9], {3}, {0, 0, 0});
  expect_near(out[10], {2},
              {std::log(std::exp(1) + std::exp(2) + std::exp(3)),
               std::log(std::exp(4) + std::exp(5) + std::exp(9))});
  expect_near(out[11], {2, 3}, {1, 3, 6, 4, 9, 18});
  expect_near(out[12], {2}, {0, 1});
  expect_near(out[13], {2}, {0, 1});
  expect_near(out[14], {}, {1});
}

TEST(Indexing, gather_scatter_index) {
  const HostTensor x = HostTensor::from<double>({0, 1, 2, 3, 4, 5}, {2, 3});
  const HostTensor i = HostTensor::from<int64_t>({2, 0}, {2, 1});
  const Arrays out = result({x, i}, [](const Tensor& a, const Tensor& k) {
    return Tensors{gather(a, 1, k),
                   index_select(a, 1, k.flatten()),
                   scatter(a, 1, k, -1.0),
                   scatter_add(a, 1, k, full({2, 1}, 10.0, DType::f64)),
                   index(a, {k.flatten().slice(0, 1, 2), k.flatten().slice(0, 0, 1)}),
                   one_hot(k.flatten(), 3)};
  });
  expect_near(out[0], {2, 1}, {2, 3});
  expect_near(out[1], {2, 2}, {2, 0, 5, 3});
  expect_near(out[2], {2, 3}, {0, 1, -1, -1, 4, 5});
  expect_near(out[3], {2, 3}, {0, 1, 12, 13, 4, 5});
  expect_near(out[4], {1}, {2});
  expect_near(out[5], {2, 3}, {0, 0, 1, 1, 0, 0});
}

// softmax(q k^T / sqrt(E)) v by loops; masked(i, j) says which scores don't count.
template <class F>
std::vector<double> attention(const HostTensor& q, const HostTensor& k, const HostTensor& v,
                              const F& masked) {
  const int64_t n = q.shape()[0], l = q.shape()[1], e = q.shape()[2], s = k.shape()[1];
  std::vector<double> out;
  for (int64_t b = 0; b < n; ++b)
    for (int64_t i = 0; i < l; ++i) {
      std::vector<double> w(s);
      double total = 0;
      for (int64_t j = 0; j < s; ++j) {
        double score = 0;
        for (int64_t c = 0; c < e; ++c) score += q.at<double>({b, i, c}) * k.at<double>({b, j, c});
        w[j] = masked(i, j) ? 0 : std::exp(score / std::sqrt(double(e)));
        total += w[j];
      }
      for (int64_t c = 0; c < v.shape()[2]; ++c) {
        double y = 0;
        for (int64_t j = 0; j < s; ++j) y += w[j] / total * v.at<double>({b, j, c});
        out.push_back(y);
      }
    }
  return out;
}

TEST(Attention, plain_causal_and_masked) {
  const HostTensor q = random({2, 3, 4}, 1), k = random({2, 3, 4}, 2), v = random({2, 3, 5}, 3);
  const HostTensor allowed =
      HostTensor::from<int64_t>({1, 0, 1, 1, 1, 0, 0, 1, 1}, {3, 3}).to(DType::boolean);
  const Arrays out = result({q, k, v, allowed}, [](const Tensors& in) {
    const Tensor additive = where(in[3], full({}, 0.0, DType::f64), -infinity);
    return Tensors{scaled_dot_product_attention(in[0], in[1], in[2]),
                   scaled_dot_product_attention(in[0], in[1], in[2], {.is_causal = true}),
                   scaled_dot_product_attention(in[0], in[1], in[2], {.attn_mask = in[3]}),
                   scaled_dot_product_attention(in[0], in[1], in[2], {.attn_mask = additive})};
  });
  const auto disallowed = [&](int64_t i, int64_t j) { return allowed.number(i * 3 + j) == 0; };
  expect_near(out[0], {2, 3, 5}, attention(q, k, v, [](int64_t, int64_t) { return false; }));
  expect_near(out[1], {2, 3, 5}, attention(q, k, v, [](int64_t i, int64_t j) { return j > i; }));
  expect_near(out[2], {2, 3, 5}, attention(q, k, v, disallowed));
  expect_near(out[3], {2, 3, 5}, attention(q, k, v, disallowed));
}

TEST(Losses, cross_entropy) {
  const HostTensor x = random({4, 3}, 7);
  const HostTensor target = HostTensor::from<int64_t>({2, 0, -100, 1});
  std::vector<double> nll, smooth;
  for (int64_t i = 0; i < 4; ++i) {
    double z = 0, all = 0;
    for (int64_t c = 0; c < 3; ++c) z += std::exp(x.at<double>({i, c}));
    for (int64_t c = 0; c < 3; ++c) all -= x.at<double>({i, c}) - std::log(z);
    const int64_t t = target.at<int64_t>({i});
    nll.push_back(t < 0 ? 0 : std::log(z) - x.at<double>({i, t}));
    smooth.push_back(t < 0 ? 0 : all);
  }
  const double total = nll[0] + nll[1] + nll[3];
  const Arrays out = result({x, target}, [](const Tensor& a, const Tensor& t) {
    return Tensors{cross_entropy(a, t),
                   cross_entropy(a, t, {.reduction = Reduction::sum}),
                   cross_entropy(a, t, {.reduction = Reduction::none}),
                   cross_entropy(a, t, {.label_smoothing = 0.1}),
                   cross_entropy(a.unsqueeze(2), t.unsqueeze(1)),
                   cross_entropy(a, t, {.ignore_index = -100})};
  });
  expect_near(out[0], {}, {total / 3});
  expect_near(out[1], {}, {total});
  expect_near(out[2], {4}, nll);
  expect_near(out[3], {}, {(0.9 * total + 0.1 / 3 * (smooth[0] + smooth[1] + smooth[3])) / 3});
  expect_near(out[4], {}, {total / 3});
  expect_near(out[5], {}, {total / 3});
}

TEST(Losses, mse) {
  const HostTensor a = HostTensor::from<double>({1, 2, 4}), b = HostTensor::from<double>({0, 4, 1});
  const Arrays out = result({a, b}, [](const Tensor& x, const Tensor& y) {
    return Tensors{mse_loss(x, y), mse_loss(x, y, Reduction::sum), mse_loss(x, y, Reduction::none)};
  });
  expect_near(out[0], {}, {14.0 / 3});
  expect_near(out[1], {}, {14});
  expect_near(out[2], {3}, {1, 4, 9});
}

TEST(Norms, layer_norm) {
  const HostTensor x = random({2, 4}, 9), w = random({4}, 10), b = random({4}, 11);
  std::vector<double> want;
  for (int64_t r = 0; r < 2; ++r) {
    double mean = 0, square = 0;
    for (int64_t c = 0; c < 4; ++c) mean += x.at<double>({r, c}) / 4;
    for (int64_t c = 0; c < 4; ++c) square += std::pow(x.at<double>({r, c}) - mean, 2) / 4;
    for (int64_t c = 0; c < 4; ++c)
      want.push_back((x.at<double>({r, c}) - mean) / std::sqrt(square + 1e-5) * w.number(c) +
                     b.number(c));
  }
  expect_near(result({x, w, b}, [](const Tensor& a, const Tensor& c,
                                   const Tensor& d) { return layer_norm(a, {4}, c, d); })[0],
              {2, 4}, want);
}

TEST(Constants, types_and_values) {
  const Arrays out = result({}, [] {
    return Tensors{zeros({2}),    ones({2}, DType::i64),
                   full({}, 2.5), arange(1, 2, 0.25),
                   arange(0, 3),  ones_like(zeros({1, 2}, DType::bf16))};
  });
  EXPECT_EQ(out[0].dtype, DType::f32);
  EXPECT_EQ(out[1].dtype, DType::i64);
  EXPECT_EQ(out[4].dtype, DType::i64);
  EXPECT_EQ(out[5].dtype, DType::bf16);
  expect_near(out[2], {}, {2.5});
  expect_near(out[3], {4}, {1, 1.25, 1.5, 1.75});
  expect_near(out[4], {3}, {0, 1, 2});
}

}  // namespace
}  // namespace cleave
