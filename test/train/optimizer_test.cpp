// Optimizers against the same formulas in plain double-precision C++, over 50 steps; learning-rate
// schedules.
// tests: trace/optimizer.cpp trace/optimizer_rule.cpp
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "test/trace/traced.h"

namespace cleave {
namespace {

// The parameters of the plain optimizer and its state.
struct Plain {
  std::vector<double> p, m, v, largest;
  int64_t t = 0;
  explicit Plain(std::vector<double> start)
      : p(std::move(start)), m(p.size()), v(p.size()), largest(p.size()) {}
};

using Rule = std::function<void(Plain&, const std::vector<double>& grad, double lr)>;

// loss = sum((x * w)^2 / 2): g_i = x_i^2 w_i, for 50 steps of changing x and lr. Both a weight of
// one dim and one of two, so that `decays` can tell them apart.
void expect_agreement(const optim::Optimizer& optimizer, const Rule& rule, DType type,
                      double tolerance, bool decay_matrices_only = false, double clip = 0) {
  (void)decay_matrices_only;
  Generator rng(8);
  nn::Module model;
  const Variable w = model.add_parameter("w", rng.normal({2, 3}).to(type));
  const Variable b = model.add_parameter("b", rng.normal({6}).to(type));
  std::vector<double> start = w.value().to_vector<double>();
  for (const double x : b.value().to_vector<double>()) start.push_back(x);
  Plain plain(start);

  TrainStep step = train_step(model,
                              [&](const Tensor& x) {
                                const Tensor first = x.slice(0, 0, 6).view({2, 3}) * w,
                                             second = x.slice(0, 6, 12) * b;
                                return (sum(square(first)) + sum(square(second))) * 0.5;
                              },
                              optimizer, {{"x", type, {12}}}, {.clip_norm = clip});
  for (int i = 0; i < 50; ++i) {
    const HostTensor x = rng.normal({12}).to(type);
    const double lr = optim::cosine(i, 0.05, 5, 50);
    step.set_learning_rate(lr);
    step.run({x});
    std::vector<double> grad;
    double norm = 0;
    for (int64_t k = 0; k < 12; ++k) {
      grad.push_back(x.number(k) * x.number(k) * plain.p[k]);
      norm += grad.back() * grad.back();
    }
    if (clip > 0)
      for (double& g : grad) g *= std::min(1.0, clip / (std::sqrt(norm) + 1e-6));
    ++plain.t;
    rule(plain, grad, lr);
    for (int64_t k = 0; k < 12; ++k) {
      const double got = k < 6 ? w.value().number(k) : b.value().number(k - 6);
      ASSERT_NEAR(got, plain.p[k], tolerance * std::max(1.0, std::fabs(plain.p[k])))
          << "step " << i << ", element " << k;
    }
  }
}

Rule sgd(double momentum, double decay, bool nesterov, double dampening = 0) {
  return [=](Plain& s, const std::vector<double>& grad, double lr) {
    for (size_t k = 0; k < grad.size(); ++k) {
      const double g = grad[k] + decay * s.p[k];
      s.m[k] = s.t == 1 ? g : momentum * s.m[k] + (1 - dampening) * g;
      s.p[k] -= lr * (nesterov ? g + momentum * s.m[k] : s.m[k]);
    }
  };
}

// Loshchilov and Hutter, "Decoupled weight decay regularization", algorithm 2.
Rule adam(double beta1, double beta2, double eps, double decay, bool decoupled, size_t decayed = 12,
          bool amsgrad = false) {
  return [=](Plain& s, const std::vector<double>& grad, double lr) {
    const double t = static_cast<double>(s.t);
    for (size_t k = 0; k < grad.size(); ++k) {
      const double wd = k < decayed ? decay : 0;
      const double g = grad[k] + (decoupled ? 0 : wd * s.p[k]);
      s.m[k] = beta1 * s.m[k] + (1 - beta1) * g;
      s.v[k] = beta2 * s.v[k] + (1 - beta2) * g * g;
      s.largest[k] = amsgrad ? std::max(s.largest[k], s.v[k]) : s.v[k];
      const double m = s.m[k] / (1 - std::pow(beta1, t));
      const double v = s.largest[k] / (1 - std::pow(beta2, t));
      if (decoupled) s.p[k] -= lr * wd * s.p[k];
      s.p[k] -= lr * m / (std::sqrt(v) + eps);
    }
  };
}

// Tieleman and Hinton, "Lecture 6.5: RMSProp", 2012; centered: Graves, arXiv:1308.0850, (40).
Rule rmsprop(double alpha, double eps, double decay, double momentum, bool centered) {
  std::vector<double> mean(12);
  return [=](Plain& s, const std::vector<double>& grad, double lr) mutable {
    for (size_t k = 0; k < grad.size(); ++k) {
      const double g = grad[k] + decay * s.p[k];
      s.v[k] = alpha * s.v[k] + (1 - alpha) * g * g;
      mean[k] = alpha * mean[k] + (1 - alpha) * g;
      const double v = centered ? s.v[k] - mean[k] * mean[k] : s.v[k];
      s.m[k] = momentum * s.m[k] + g / (std::sqrt(v) + eps);
      s.p[k] -= lr * s.m[k];
    }
  };
}

// Duchi, Hazan and Singer, "Adaptive subgradient methods", 2011.
Rule adagrad(double lr_decay, double decay, double start, double eps) {
  return [=](Plain& s, const std::vector<double>& grad, double lr) {
    const double rate = lr / (1 + static_cast<double>(s.t - 1) * lr_decay);
    for (size_t k = 0; k < grad.size(); ++k) {
      const double g = grad[k] + decay * s.p[k];
      s.v[k] += g * g;
      s.p[k] -= rate * g / (std::sqrt(s.v[k] + start) + eps);
    }
  };
}

TEST(Optimizer, sgd) {
  expect_agreement(optim::SGD({}), sgd(0, 0, false), DType::f32, 1e-6);
  expect_agreement(optim::SGD({.momentum = 0.9}), sgd(0.9, 0, false), DType::f32, 1e-5);
  expect_agreement(optim::SGD({.momentum = 0.9, .weight_decay = 0.1}), sgd(0.9, 0.1, false),
                   DType::f32, 1e-5);
  expect_agreement(optim::SGD({.momentum = 0.8, .weight_decay = 0.1, .nesterov = true}),
                   sgd(0.8, 0.1, true), DType::f32, 1e-5);
}

TEST(Optimizer, adam) {
  expect_agreement(optim::Adam({}), adam(0.9, 0.999, 1e-8, 0, false), DType::f32, 2e-5);
  expect_agreement(optim::Adam({.beta1 = 0.8, .beta2 = 0.95, .eps = 1e-3, .weight_decay = 0.1}),
                   adam(0.8, 0.95, 1e-3, 0.1, false), DType::f32, 2e-5);
}

TEST(Optimizer, adamw) {
  expect_agreement(optim::AdamW({}), adam(0.9, 0.999, 1e-8, 1e-2, true), DType::f32, 2e-5);
  expect_agreement(optim::AdamW({.beta2 = 0.95, .weight_decay = 0.3}),
                   adam(0.9, 0.95, 1e-8, 0.3, true), DType::f32, 2e-5);
}

TEST(Optimizer, sgd_with_dampening) {
  expect_agreement(optim::SGD({.momentum = 0.9, .weight_decay = 0.1, .dampening = 0.3}),
                   sgd(0.9, 0.1, false, 0.3), DType::f64, 1e-13);
}

TEST(Optimizer, amsgrad) {
  const auto rule = [](double decay, bool decoupled) {
    return adam(0.8, 0.9, 1e-8, decay, decoupled, 12, true);
  };
  expect_agreement(optim::Adam({.beta1 = 0.8, .beta2 = 0.9, .weight_decay = 0.1, .amsgrad = true}),
                   rule(0.1, false), DType::f64, 1e-12);
  expect_agreement(optim::AdamW({.beta1 = 0.8, .beta2 = 0.9, .weight_decay = 0.1, .amsgrad = true}),
                   rule(0.1, true), DType::f64, 1e-12);
  expect_agreement(optim::AdamW({.beta1 = 0.8, .beta2 = 0.9, .weight_decay = 0, .amsgrad = true}),
                   rule(0, true), DType::f32, 2e-5);
}

TEST(Optimizer, rmsprop) {
  expect_agreement(optim::RMSprop({}), rmsprop(0.99, 1e-8, 0, 0, false), DType::f64, 1e-12);
  expect_agreement(
      optim::RMSprop({.alpha = 0.9, .eps = 1e-3, .weight_decay = 0.1, .momentum = 0.5}),
      rmsprop(0.9, 1e-3, 0.1, 0.5, false), DType::f64, 1e-12);
  expect_agreement(optim::RMSprop({.alpha = 0.9, .momentum = 0.5, .centered = true}),
                   rmsprop(0.9, 1e-8, 0, 0.5, true), DType::f64, 1e-9);
  expect_agreement(optim::RMSprop({.alpha = 0.9}), rmsprop(0.9, 1e-8, 0, 0, false), DType::f32,
                   2e-5);
}

TEST(Optimizer, adagrad) {
  expect_agreement(optim::Adagrad({}), adagrad(0, 0, 0, 1e-10), DType::f64, 1e-12);
  expect_agreement(
      optim::Adagrad(
          {.lr_decay = 0.1, .weight_decay = 0.2, .initial_accumulator_value = 0.5, .eps = 1e-3}),
      adagrad(0.1, 0.2, 0.5, 1e-3), DType::f64, 1e-12);
  expect_agreement(optim::Adagrad({}), adagrad(0, 0, 0, 1e-10), DType::f32, 2e-5);
}

TEST(Optimizer, in_f64_to_the_last_digits) {
  expect_agreement(optim::SGD({.momentum = 0.9, .nesterov = true}), sgd(0.9, 0, true), DType::f64,
                   1e-13);
  expect_agreement(optim::AdamW({.weight_decay = 0.1}), adam(0.9, 0.999, 1e-8, 0.1, true),
                   DType::f64, 1e-12);
}

TEST(Optimizer, decay_of_some_parameters) {
  const auto matrices = [](const std::string&, const Tensor& p) { return p.dim() >= 2; };
  expect_agreement(optim::AdamW({.weight_decay = 0.3, .decays = matrices}),
                   adam(0.9, 0.999, 1e-8, 0.3, true, 6), DType::f32, 2e-5);
}

TEST(Optimizer, after_clipping) {
  expect_agreement(optim::AdamW({.weight_decay = 0.1}), adam(0.9, 0.999, 1e-8, 0.1, true),
                   DType::f32, 2e-5, false, 0.5);
}

// bf16 parameters keep bf16 state, and are rounded once a step.
TEST(Optimizer, bf16_parameters) {
  nn::Module model;
  const Variable w = model.add_parameter("w", HostTensor::from<float>({1, -3}).to(DType::bf16));
  TrainStep step = train_step(model, [&](const Tensor& x) { return sum(to(x * w, DType::f32)); },
                              optim::SGD({.lr = 1.0, .momentum = 0.5}), {{"x", DType::bf16, {2}}});
  const HostTensor x = HostTensor::from<float>({0.3f, 0.01f}).to(DType::bf16);
  double p[] = {1, -3}, m[] = {0, 0};
  for (int i = 0; i < 3; ++i) {
    step.run({x});
    for (int k = 0; k < 2; ++k) {
      const float buffer = static_cast<float>(m[k]) * 0.5f + static_cast<float>(x.number(k));
      p[k] = round_to(DType::bf16, static_cast<float>(p[k]) - buffer);
      m[k] = round_to(DType::bf16, buffer);
      EXPECT_EQ(w.value().number(k), p[k]);
      EXPECT_EQ(step.store().at("optimizer.momentum_buffer.w").value().number(k), m[k]);
    }
  }
}

// An optimizer of the host program: sign descent.
struct SignDescent : optim::Optimizer {
  double learning_rate() const override { return 0.25; }
  void record(optim::Update& update) const override {
    for (const auto& p : update.parameters())
      update.set(p, p.value - sign(p.grad) * to(update.learning_rate(), p.value.dtype()));
  }
};

TEST(Optimizer, of_the_host_program) {
  nn::Module model;
  const Variable w = model.add_parameter("w", HostTensor::from<float>({1, -3}));
  TrainStep step = train_step(model, [&](const Tensor& x) { return sum(x * w); }, SignDescent(),
                              {{"x", DType::f32, {2}}});
  step.run({HostTensor::from<float>({0.1f, -7})});
  EXPECT_EQ(w.value().to_vector<double>(), (std::vector<double>{0.75, -2.75}));
}

TEST(Schedule, values) {
  EXPECT_EQ(optim::constant(7, 0.5), 0.5);
  EXPECT_EQ(optim::constant(0, 0.5, 5), 0.1);
  EXPECT_EQ(optim::linear(0, 1, 4, 12), 0.25);
  EXPECT_EQ(optim::linear(3, 1, 4, 12), 1);
  EXPECT_EQ(optim::linear(4, 1, 4, 12), 1);
  EXPECT_EQ(optim::linear(8, 1, 4, 12), 0.5);
  EXPECT_EQ(optim::linear(12, 1, 4, 12, 0.1), 0.1);
  EXPECT_EQ(optim::linear(99, 1, 4, 12, 0.1), 0.1);
  EXPECT_EQ(optim::cosine(4, 1, 4, 12), 1);
  EXPECT_NEAR(optim::cosine(8, 1, 4, 12), 0.5, 1e-15);
  EXPECT_NEAR(optim::cosine(6, 1, 4, 12), 0.5 * (1 + std::sqrt(0.5)), 1e-15);
  EXPECT_EQ(optim::cosine(12, 1, 4, 12, 0.25), 0.25);
  EXPECT_EQ(optim::cosine(0, 1, 0, 0), 0);
}

}  // namespace
}  // namespace cleave
