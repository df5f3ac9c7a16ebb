// Training steps with data-dependent control flow.
#include <gtest/gtest.h>

#include "cleave/control_flow.h"
#include "test/trace/traced.h"

namespace cleave {
namespace {

const std::vector<InputSpec> xyp = {
    {"x", DType::f32, {32, 4}}, {"y", DType::f32, {32, 1}}, {"p", DType::boolean, {}}};

struct Batch {
  HostTensor x, y, p;
  Batch(Generator& rng, bool flag)
      : x(rng.uniform({32, 4}, -1, 1)), y(rng.uniform({32, 1}, -1, 1)), p(DType::boolean, {}) {
    p.set_number(0, flag);
  }
};

struct Pair : nn::Module {
  nn::Linear small, deep, last;
  explicit Pair(Generator& rng)
      : small(add_module("small", nn::Linear(4, 8, rng))),
        deep(add_module("deep", nn::Linear(4, 8, rng))),
        last(add_module("last", nn::Linear(8, 1, rng))) {}
  Tensor operator()(const Tensor& x, const Tensor& p) const {
    const Tensor h =
        cond(p, [&] { return tanh(small(x)); }, [&] { return relu(deep(x)) * 2.0; })[0];
    return last(h);
  }
  // The same without a branch: both are computed.
  Tensor chosen(const Tensor& x, const Tensor& p) const {
    return last(where(p, tanh(small(x)), relu(deep(x)) * 2.0));
  }
};

TEST(ControlFlowStep, trains_as_a_choice_of_both_does) {
  Generator one(1), two(1), data(2);
  const Pair branch(one), both(two);
  const auto step = [](const Pair& model, Tensor (Pair::*f)(const Tensor&, const Tensor&) const) {
    return train_step(
        model,
        [&model, f](const Tensor& x, const Tensor& y, const Tensor& p) {
          return mse_loss((model.*f)(x, p), y);
        },
        optim::AdamW({.lr = 1e-2}), xyp);
  };
  TrainStep a = step(branch, &Pair::operator()), b = step(both, &Pair::chosen);
  for (int i = 0; i < 20; ++i) {
    const Batch batch(data, i % 3 == 0);
    EXPECT_EQ(a.run({batch.x, batch.y, batch.p}).loss, b.run({batch.x, batch.y, batch.p}).loss)
        << "step " << i;
  }
  const auto mine = branch.named_parameters(), other = both.named_parameters();
  for (size_t k = 0; k < mine.size(); ++k)
    for (int64_t i = 0; i < mine[k].second.value().numel(); ++i)
      EXPECT_EQ(mine[k].second.value().number(i), other[k].second.value().number(i))
          << mine[k].first;
}

TEST(ControlFlowStep, planned_peak_is_measured) {
  Generator rng(1), data(2);
  const Pair model(rng);
  TrainStep step = train_step(
      model,
      [&](const Tensor& x, const Tensor& y, const Tensor& p) { return mse_loss(model(x, p), y); },
      optim::SGD({.lr = 0.1}), xyp);
  int64_t most = 0;
  for (const bool p : {false, true}) {
    const Batch batch(data, p);
    step.watch_memory();
    step.run({batch.x, batch.y, batch.p});
    most = std::max(most, step.measured_peak_bytes());
  }
  EXPECT_EQ(most, step.report().planned_peak_bytes);
}

TEST(ControlFlowStep, a_loop_finds_the_root_that_the_loss_is_scaled_by) {
  // s = sqrt(mean(y^2) + 1) by Newton's iteration, as a number of the step.
  Generator rng(1), data(2);
  const Pair model(rng);
  TrainStep step = train_step(
      model,
      [&](const Tensor& x, const Tensor& y, const Tensor& p) {
        const Tensor a = mean(square(y)) + 1.0;
        const Tensor root = while_loop([&](const Tensor& s) { return abs(s * s - a) > 1e-5; },
                                       [&](const Tensor& s) { return (s + a / s) * 0.5; }, {a})[0];
        return Tensors{mse_loss(model(x, p), y) / root, root};
      },
      optim::SGD({.lr = 0.1}), xyp);
  const Batch batch(data, true);
  step.run({batch.x, batch.y, batch.p});
  double sum = 0;
  for (int64_t i = 0; i < 32; ++i) sum += batch.y.number(i) * batch.y.number(i);
  EXPECT_NEAR(step.output(0).number(0), std::sqrt(sum / 32 + 1), 1e-5);
}

}  // namespace
}  // namespace cleave
