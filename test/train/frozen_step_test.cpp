// Training steps whose loss reads other modules, and gradients of its own.
// tests: step_trace.cpp
#include <gtest/gtest.h>

#include "cleave/grad.h"
#include "cleave/nn_norm.h"
#include "cleave/train.h"
#include "test/trace/traced.h"

namespace cleave {
namespace {

using test::message;

const std::vector<InputSpec> only_x{{"x", DType::f32, {8, 2}}};

struct Halves {
  Generator rng{5};
  nn::Sequential maker{nn::Linear(2, 6, rng), nn::Tanh(), nn::Linear(6, 3, rng)};
  nn::Sequential critic{nn::Linear(3, 6, rng), nn::Tanh(), nn::Linear(6, 1, rng)};
  HostTensor x = rng.uniform({8, 2}, -1, 1);
  Tensor loss(const Tensor& in) const { return -critic(maker(in)).mean(); }
  TrainStep step() const {
    return train_step(maker, [this](const Tensor& in) { return loss(in); }, optim::SGD({.lr = 0.1}),
                      only_x, {.frozen = {{"critic", critic}}});
  }
};

// The same bits as with both halves in one module, of which one is frozen.
TEST(FrozenStep, trains_the_model_through_the_other_module) {
  Halves a, b;
  nn::Module both;
  both.add_module("maker", b.maker);
  both.add_module("critic", b.critic);
  b.critic.set_requires_grad(false);
  TrainStep one = a.step();
  TrainStep other = train_step(
      both, [&](const Tensor& in) { return b.loss(in); }, optim::SGD({.lr = 0.1}), only_x);
  const HostTensor start = a.critic.parameter("0.weight").value();
  for (int k = 0; k < 3; ++k) EXPECT_EQ(one.run({a.x}).loss, other.run({b.x}).loss);
  for (const auto& [name, v] : a.maker.named_parameters())
    EXPECT_TRUE(v.value().same_bits(b.maker.parameter(name).value())) << name;
  EXPECT_TRUE(a.critic.parameter("0.weight").value().same_bits(start));
  EXPECT_TRUE(a.critic.parameter("0.weight").requires_grad());
  EXPECT_FALSE(one.store().find("critic.0.weight").defined());
  EXPECT_NE(one.graph_text().find("%critic.0.weight: param"), std::string::npos);
}

TEST(FrozenStep, reads_the_other_modules_values_at_each_run) {
  Halves a;
  TrainStep step = a.step();
  const nn::Sequential target = nn::clone(a.critic);
  const double before = step.run({a.x}).loss;
  for (auto& [name, v] : a.critic.named_parameters()) v.set(HostTensor(v.dtype(), v.shape()));
  EXPECT_EQ(step.run({a.x}).loss, 0);
  a.critic.copy_from(target);
  EXPECT_LT(step.run({a.x}).loss, before);
}

TEST(FrozenStep, updates_the_buffers_of_modules_in_training_mode) {
  for (const bool trains : {true, false}) {
    Generator rng(5);
    const nn::Linear model(2, 3, rng);
    nn::BatchNorm1d other(3);
    other.train(trains);
    TrainStep step =
        train_step(model, [&](const Tensor& x) { return mean(square(other(model(x)))); },
                   optim::SGD({.lr = 0.1}), only_x, {.frozen = {{"other", other}}});
    step.run({rng.uniform({8, 2}, -1, 1)});
    EXPECT_EQ(other.store().at("num_batches_tracked").value().item(), trains ? 1 : 0);
    EXPECT_EQ(other.store().at("running_var").value().number(0) != 1, trains);
    other.train(!trains);
    const std::string said = message([&] { step.run({rng.uniform({8, 2}, -1, 1)}); });
    EXPECT_NE(said.find(trains ? "train_step: other was switched to eval()"
                               : "train_step: other was switched to train()"),
              std::string::npos)
        << said;
  }
}

TEST(FrozenStep, what_the_model_holds_too_is_trained) {
  Halves a;
  nn::Module shared;
  shared.add_module("maker", a.maker);
  TrainStep step =
      train_step(a.maker, [&](const Tensor& x) { return a.loss(x); }, optim::SGD({.lr = 0.1}),
                 only_x, {.frozen = {{"shared", shared}, {"critic", a.critic}}});
  const HostTensor before = a.maker.parameter("0.weight").value();
  step.run({a.x});
  EXPECT_FALSE(a.maker.parameter("0.weight").value().same_bits(before));
}

TEST(FrozenStep, says_what_is_wrong) {
  Halves a;
  const auto with = [&](std::vector<std::pair<std::string, nn::Module>> frozen) {
    return message([&] {
      train_step(a.maker, [&](const Tensor& x) { return a.loss(x); }, optim::SGD({.lr = 0.1}),
                 only_x, {.frozen = std::move(frozen)});
    });
  };
  EXPECT_NE(with({}).find("or give the module that holds it in TrainOptions::frozen"),
            std::string::npos)
      << with({});
  EXPECT_NE(with({{"", a.critic}}).find("TrainOptions::frozen: the name of module 0 is ``"),
            std::string::npos)
      << with({{"", a.critic}});
  const std::string odd = with({{"50%", a.critic}});
  EXPECT_EQ(odd.find(__FILE__), 0U) << odd;  // its line
  EXPECT_NE(odd.find("the name `50%` is empty, too long, or holds"), std::string::npos) << odd;
  EXPECT_NE(with({{"c", a.critic}, {"c", nn::clone(a.critic)}})
                .find("TrainOptions::frozen: two modules are named `c`"),
            std::string::npos)
      << with({{"c", a.critic}, {"c", nn::clone(a.critic)}});
}

// The gradient of a penalty on the critic's slope, beside differences of the penalty.
TEST(FrozenStep, differentiates_a_gradient_penalty) {
  Generator rng(9);
  struct Critic : nn::Module {
    nn::Linear a, b;
    explicit Critic(Generator& rng)
        : a(add_module("a", nn::Linear(3, 5, rng, {.dtype = DType::f64}))),
          b(add_module("b", nn::Linear(5, 1, rng, {.dtype = DType::f64}))) {}
    Tensor operator()(const Tensor& x) const { return b(silu(a(x))); }
  };
  Critic critic(rng);
  const HostTensor x = rng.uniform({4, 3}, -1, 1).to(DType::f64);
  const std::vector<InputSpec> specs{{"x", DType::f64, {4, 3}}};
  const auto penalty = [&](const Tensor& in) {
    const Tensor slope = grad(critic(in).sum(), {in})[0];
    return square(sqrt((slope * slope).sum(1)) - 1).mean();
  };
  CompiledFunction f = compile(critic, penalty, specs);
  Variable w = critic.parameter("a.weight");
  const HostTensor start = w.value();
  constexpr double h = 1e-4, lr = 1e-3;
  std::vector<double> slope;
  for (int64_t k = 0; k < start.numel(); ++k) {
    HostTensor moved = start;
    moved.set_number(k, start.number(k) + h);
    w.set(moved);
    const double above = f.run({x})[0].item();
    moved.set_number(k, start.number(k) - h);
    w.set(moved);
    slope.push_back((above - f.run({x})[0].item()) / (2 * h));
  }
  w.set(start);
  TrainStep step = train_step(critic, penalty, optim::SGD({.lr = lr}), specs);
  step.run({x});
  for (int64_t k = 0; k < start.numel(); ++k)
    EXPECT_NEAR((start.number(k) - w.value().number(k)) / lr, slope[static_cast<size_t>(k)], 1e-6);
}

}  // namespace
}  // namespace cleave
