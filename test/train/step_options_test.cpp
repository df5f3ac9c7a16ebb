// Options of a training step besides its optimizer: groups of parameters, gradient accumulation,
// averages of the weights, modes.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "cleave/cleave.h"
#include "test/trace/traced.h"

namespace cleave {
namespace {

using test::message;

struct Net : nn::Module {
  nn::Linear body, head;
  explicit Net(Generator& rng, DType type = DType::f64)
      : body(add_module("body", nn::Linear(3, 4, rng, {.dtype = type}))),
        head(add_module("head", nn::Linear(4, 2, rng, {.dtype = type}))) {}
  Tensor operator()(const Tensor& x) const { return head(tanh(body(x))); }
  Tensor loss(const Tensor& x, const Tensor& y) const { return mse_loss((*this)(x), y); }
};

std::vector<InputSpec> specs(int64_t batch, DType type = DType::f64) {
  return {{"x", type, {batch, 3}}, {"y", type, {batch, 2}}};
}

TracedFunction loss_of(const Net& net) {
  return [&net](const Tensor& x, const Tensor& y) { return net.loss(x, y); };
}

struct Data {
  HostTensor x, y;
  Data(Generator& rng, int64_t batch, DType type = DType::f64)
      : x(rng.normal({batch, 3}).to(type)), y(rng.normal({batch, 2}).to(type)) {}
};

HostTensor rows(const HostTensor& t, int64_t from, int64_t to) {
  HostTensor out(t.dtype(), {to - from, t.shape()[1]});
  for (int64_t k = 0; k < out.numel(); ++k) out.set_number(k, t.number(from * t.shape()[1] + k));
  return out;
}

void expect_same(const nn::Module& a, const nn::Module& b, double tolerance) {
  for (const auto& [name, v] : a.named_parameters())
    for (int64_t k = 0; k < v.value().numel(); ++k)
      EXPECT_NEAR(v.value().number(k), b.parameter(name).value().number(k), tolerance) << name;
}

// ---- groups

// Each group moves as it would under its optimizer alone, the others frozen.
TEST(Groups, each_has_its_optimizer_and_rate) {
  const optim::SGD sgd({.lr = 0.1, .momentum = 0.9});
  const optim::AdamW adamw({.lr = 0.01, .weight_decay = 0.1});
  Generator seed(3);
  const Data d(seed, 5);
  Generator rng(1), again(1);
  const Net both(rng), alone(again);
  TrainStep step =
      train_step(both, loss_of(both),
                 optim::Groups({{optim::named("head."), adamw}, {optim::others(), sgd}}), specs(5));
  EXPECT_NE(step.graph_text().find("%lr.0: input f64[], %lr.1: input f64[]"), std::string::npos);
  EXPECT_EQ(step.learning_rate(), 0.01);
  EXPECT_EQ(step.learning_rate(1), 0.1);

  // The gradients of both parts are those at the same point only in the first step.
  step.run({d.x, d.y});
  const auto run_alone = [&](const nn::Module& frozen, const optim::Optimizer& optimizer) {
    nn::Module(frozen).set_requires_grad(false);
    TrainStep part = train_step(alone, loss_of(alone), optimizer, specs(5));
    part.run({d.x, d.y});
    nn::Module(frozen).set_requires_grad(true);
  };
  const HostTensor head = alone.head.parameter("weight").value();
  run_alone(alone.body, adamw);
  const HostTensor moved = alone.head.parameter("weight").value();
  alone.head.parameter("weight").set(head);
  const HostTensor moved_bias = alone.head.parameter("bias").value();
  Generator third(1);
  alone.head.parameter("bias").set(Net(third).head.parameter("bias").value());
  run_alone(alone.head, sgd);
  alone.head.parameter("weight").set(moved);
  alone.head.parameter("bias").set(moved_bias);
  expect_same(both, alone, 1e-15);
  EXPECT_TRUE(step.store().find("optimizer.exp_avg.head.weight").defined());
  EXPECT_TRUE(step.store().find("optimizer.momentum_buffer.body.weight").defined());
  EXPECT_FALSE(step.store().find("optimizer.exp_avg.body.weight").defined());
}

TEST(Groups, learning_rates_by_group) {
  Generator rng(1);
  const Net net(rng);
  TrainStep step = train_step(net, loss_of(net),
                              optim::Groups({{optim::named("head."), optim::SGD({.lr = 1})},
                                             {optim::others(), optim::SGD({.lr = 1})}}),
                              specs(5));
  const HostTensor body = net.body.parameter("weight").value();
  const HostTensor head = net.head.parameter("weight").value();
  step.set_learning_rate(1, 0);
  Generator seed(3);
  const Data d(seed, 5);
  step.run({d.x, d.y});
  EXPECT_TRUE(net.body.parameter("weight").value().same_bits(body));
  EXPECT_FALSE(net.head.parameter("weight").value().same_bits(head));
  step.set_learning_rate(0.5);
  EXPECT_EQ(step.learning_rate(0), 0.5);
  EXPECT_EQ(step.learning_rate(1), 0.5);
  EXPECT_EQ(message([&] { step.set_learning_rate(2, 0.1); }),
            "train_step: group 2 is outside [0, 2)");
}

TEST(Groups, errors) {
  Generator rng(1);
  const Net net(rng);
  EXPECT_NE(message([&] {
              train_step(net, loss_of(net),
                         optim::Groups({{optim::named("head."), optim::SGD({})}}), specs(5));
            }).find("optim::Groups: no group selects body.weight; freeze it or add a group"),
            std::string::npos);
  EXPECT_NE(message([] { optim::Groups({}); }).find("there is no group"), std::string::npos);
}

// ---- options are a value, the store is given

TEST(TrainOptions, two_steps_of_one_value_share_nothing) {
  Generator rng(1), again(2), seed(3);
  const Net one(rng), other(again);
  const TrainOptions options{.compile = {.threads = 1}};
  TrainStep a = train_step(one, loss_of(one), optim::AdamW({}), specs(2), options);
  TrainStep b = train_step(other, loss_of(other), optim::AdamW({}), specs(2), options);
  const Data d(seed, 2);
  a.run({d.x, d.y});
  EXPECT_EQ(a.steps(), 1);
  EXPECT_EQ(b.steps(), 0);
  EXPECT_FALSE(a.store() == b.store());
}

TEST(StepStore, keeps_what_a_step_adds_to_it) {
  Generator rng(1), seed(3);
  const Net net(rng);
  const Store store;
  TrainStep step =
      train_step(net, loss_of(net), optim::AdamW({}), specs(2), {.ema_decay = 0.9}, store);
  EXPECT_TRUE(step.store() == store);
  EXPECT_TRUE(store.at("body.weight") == net.body.parameter("weight"));
  for (const char* name :
       {"rng", "optimizer.step", "optimizer.exp_avg.body.weight", "ema.body.weight"})
    EXPECT_TRUE(store.find(name).defined()) << name;
}

TEST(StepStore, of_another_model_is_refused) {
  Generator rng(1), again(2);
  const Net one(rng), other(again);
  const TrainStep step = train_step(one, loss_of(one), optim::AdamW({}), specs(2));
  EXPECT_NE(message([&] {
              train_step(other, loss_of(other), optim::AdamW({}), specs(2), {}, step.store());
            }).find("body.weight is there already, and is another tensor"),
            std::string::npos);
}

// ---- accumulation

// Four runs of two rows move the parameters as one run of eight rows does.
TEST(Accumulate, is_the_step_of_the_whole_batch) {
  Generator rng(1), again(1), seed(3);
  const Net whole(rng), parts(again);
  const optim::AdamW adamw({.lr = 0.01});
  TrainStep one =
      train_step(whole, loss_of(whole), adamw, specs(8), {.clip_norm = 0.5, .ema_decay = 0.9});
  TrainStep four = train_step(parts, loss_of(parts), adamw, specs(2),
                              {.clip_norm = 0.5, .accumulate = 4, .ema_decay = 0.9});
  for (int i = 0; i < 3; ++i) {
    const Data d(seed, 8);
    const StepResult want = one.run({d.x, d.y});
    double loss = 0;
    StepResult last;
    for (int64_t r = 0; r < 4; ++r) {
      EXPECT_EQ(four.steps(), i);
      const HostTensor before = parts.body.parameter("weight").value();
      last = four.run({rows(d.x, 2 * r, 2 * r + 2), rows(d.y, 2 * r, 2 * r + 2)});
      loss += last.loss / 4;
      EXPECT_EQ(parts.body.parameter("weight").value().same_bits(before), r < 3);
      EXPECT_EQ(last.grad_norm == 0, r < 3);
    }
    EXPECT_NEAR(loss, want.loss, 1e-14);
    EXPECT_NEAR(last.grad_norm, want.grad_norm, 1e-14);
    expect_same(parts, whole, 1e-12);
  }
  EXPECT_EQ(four.steps(), 3);
}

// Sums of bf16 gradients are kept in f32; a frozen parameter has none.
TEST(Accumulate, state) {
  Generator rng(1), seed(3);
  const Net net(rng, DType::bf16);
  net.body.parameter("bias").set_requires_grad(false);
  TrainStep step =
      train_step(net, loss_of(net), optim::SGD({}), specs(2, DType::bf16), {.accumulate = 2});
  const Store store = step.store();
  EXPECT_EQ(store.at("optimizer.accumulated.body.weight").dtype(), DType::f32);
  EXPECT_FALSE(store.find("optimizer.accumulated.body.bias").defined());
  const auto is_zero = [&] {
    const Variable sum = store.at("optimizer.accumulated.head.weight");
    for (int64_t k = 0; k < sum.value().numel(); ++k)
      if (sum.value().number(k) != 0) return false;
    return true;
  };
  const Data d(seed, 2, DType::bf16);
  EXPECT_TRUE(is_zero());
  step.run({d.x, d.y});
  EXPECT_FALSE(is_zero());
  EXPECT_EQ(store.at("optimizer.micro_step").value().item(), 1);
  step.run({d.x, d.y});
  EXPECT_TRUE(is_zero());
  EXPECT_EQ(store.at("optimizer.micro_step").value().item(), 0);
}

// A checkpoint between the runs of one step goes on there.
TEST(Accumulate, a_run_goes_on_from_a_checkpoint) {
  const std::string path =
      (std::filesystem::temp_directory_path() / fmt::format("cleave_accumulate_{}", getpid()))
          .string();
  Generator rng(1), other(2), seed(3);
  const Net net(rng), fresh(other);
  const auto made = [&](const Net& n) {
    return train_step(n, loss_of(n), optim::AdamW({.lr = 0.01}), specs(2), {.accumulate = 3});
  };
  TrainStep a = made(net), b = made(fresh);
  const Data d(seed, 2), e(seed, 2);
  for (int i = 0; i < 5; ++i) a.run({d.x, d.y});
  save_checkpoint(path, a.store());
  load_checkpoint(path, b.store());
  std::filesystem::remove(path);
  a.run({e.x, e.y});
  b.run({e.x, e.y});
  EXPECT_EQ(b.steps(), 2);
  expect_same(net, fresh, 0);
}

TEST(Accumulate, errors) {
  Generator rng(1);
  const Net net(rng);
  EXPECT_NE(message([&] {
              train_step(net, loss_of(net), optim::SGD({}), specs(2), {.accumulate = 0});
            }).find("train_step: accumulate is 0, expected 1 or more"),
            std::string::npos);
}

// ---- averages

TEST(Ema, follows_the_parameters) {
  for (const double decay : {0.9, 0.25}) {
    Generator rng(1), seed(3);
    const Net net(rng);
    TrainStep step =
        train_step(net, loss_of(net), optim::SGD({.lr = 0.1}), specs(4), {.ema_decay = decay});
    const Variable w = net.body.parameter("weight"), ema = step.store().at("ema.body.weight");
    std::vector<double> want;
    for (int i = 0; i < 5; ++i) {
      const Data d(seed, 4);
      step.run({d.x, d.y});
      const std::vector<double> now = w.value().to_vector<double>();
      if (i == 0) want = now;
      for (size_t k = 0; k < want.size(); ++k) {
        want[k] = decay * want[k] + (1 - decay) * now[k];
        EXPECT_NEAR(ema.value().number(static_cast<int64_t>(k)), want[k], 1e-14);
      }
    }
    EXPECT_EQ(step.store().at("ema.n_averaged").value().item(), 5);
  }
}

TEST(Ema, stands_in_for_the_parameters) {
  Generator rng(1), seed(3);
  const Net net(rng, DType::bf16);
  TrainStep step = train_step(net, loss_of(net), optim::SGD({.lr = 0.5}), specs(4, DType::bf16),
                              {.ema_decay = 0.9});
  const Data d(seed, 4, DType::bf16);
  for (int i = 0; i < 3; ++i) step.run({d.x, d.y});
  const Variable w = net.body.parameter("weight"), ema = step.store().at("ema.body.weight");
  EXPECT_EQ(ema.dtype(), DType::f32);
  const HostTensor trained = w.value();
  step.use_ema(true);
  step.use_ema(true);
  EXPECT_TRUE(w.value().same_bits(ema.value().to(DType::bf16)));
  EXPECT_FALSE(w.value().same_bits(trained));
  EXPECT_NE(message([&] { step.run({d.x, d.y}); }).find("use_ema(false) first"), std::string::npos);
  step.use_ema(false);
  step.use_ema(false);
  EXPECT_TRUE(w.value().same_bits(trained));
  step.run({d.x, d.y});
}

TEST(Ema, errors) {
  Generator rng(1);
  const Net net(rng);
  TrainStep step = train_step(net, loss_of(net), optim::SGD({}), specs(2));
  EXPECT_EQ(message([&] { step.use_ema(true); }),
            "train_step: use_ema: no averages are kept (TrainOptions::ema_decay)");
  EXPECT_NE(message([&] {
              train_step(net, loss_of(net), optim::SGD({}), specs(2), {.ema_decay = 1});
            }).find("train_step: ema_decay is 1, expected 0 <= ema_decay < 1"),
            std::string::npos);
}

}  // namespace
}  // namespace cleave
