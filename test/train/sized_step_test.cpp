// Training steps whose inputs have sizes that vary: the bits of a step for each size alone, which
// shares the store.
// tests: train_step.cpp
#include <gtest/gtest.h>

#include "cleave/cleave.h"
#include "test/trace/traced.h"

namespace cleave {
namespace {

using test::message;

// Made in a constructor: as default member initializers, temporaries of these would leak with clang
// 19, as LeakSanitizer says.
struct SizedFit {
  Generator rng{7};
  nn::Sequential model;
  TracedFunction loss;

  SizedFit()
      : model(nn::Linear(4, 8, rng), nn::Dropout(0.25), nn::Linear(8, 2, rng)),
        loss([m = model](const Tensor& x, const Tensor& y) {
          const Tensor out = m(x);
          return Tensors{mse_loss(out, y), out};
        }) {}
  static std::vector<InputSpec> specs(const InputDim& rows) {
    return {{"x", DType::f32, {rows, 4}}, {"y", DType::f32, {rows, 2}}};
  }
  TrainStep step(const InputDim& rows, const TrainOptions& options = {}, Store store = {}) {
    return train_step(model, loss, optim::Adam({.lr = 0.01}), specs(rows), options, store);
  }
};

HostTensors sized_batch(Generator& rng, int64_t rows) {
  return {rng.normal({rows, 4}), rng.normal({rows, 2})};
}

// One step whose sizes vary, beside static ones of the same store.
void expect_same_bits(const TrainOptions& options) {
  SizedFit a, b;
  TrainStep varying = a.step(dyn("B", 1, 12), options);
  std::map<int64_t, TrainStep> alone;
  Store store;
  Generator rng(11);
  for (int64_t i = 0; const int64_t rows : {12, 5, 1, 5, 12, 3, 1, 3}) {
    if (!alone.contains(rows)) alone[rows] = b.step(rows, options, store);
    if (i++ == 4) {
      varying.set_learning_rate(0.002);
      alone[rows].set_learning_rate(0.002);
    }
    const HostTensors in = sized_batch(rng, rows);
    const StepResult got = varying.run({in[0], in[1]});
    const StepResult want = alone[rows].run({in[0], in[1]});
    EXPECT_EQ(got.loss, want.loss) << rows;
    EXPECT_EQ(got.grad_norm, want.grad_norm) << rows;
    EXPECT_TRUE(varying.output(0).same_bits(alone[rows].output(0))) << rows;
  }
  EXPECT_EQ(varying.steps(), 8 / options.accumulate);
  const Store ours = varying.store();
  EXPECT_EQ(ours.entries().size(), store.entries().size());
  for (const auto& [name, v] : ours.entries())
    EXPECT_TRUE(v.value().same_bits(store.at(name).value())) << name;
}

TEST(SizedStep, has_the_bits_of_a_step_for_that_size) { expect_same_bits({}); }

TEST(SizedStep, clips_and_averages) { expect_same_bits({.clip_norm = 0.1, .ema_decay = 0.9}); }

// The runs that are gathered for one step have sizes of their own.
TEST(SizedStep, accumulates_over_sizes) { expect_same_bits({.accumulate = 2}); }

TEST(SizedStep, keeps_few_programs) { expect_same_bits({.compile = {.kept_sizes = 1}}); }

TEST(SizedStep, has_its_state_before_the_first_run) {
  SizedFit f;
  TrainStep step = f.step(dyn("B", 1, 12));
  EXPECT_EQ(step.steps(), 0);
  EXPECT_EQ(step.learning_rate(), 0.01);
  EXPECT_TRUE(step.store().find("optimizer.exp_avg.0.weight").defined());
  EXPECT_NE(step.graph_text().find("f32[12,4]"), std::string::npos);
  EXPECT_GT(step.report().planned_peak_bytes, 0);
}

TEST(SizedStep, plans_what_it_measures_for_each_size) {
  SizedFit f;
  TrainStep step = f.step(dyn("B", 1, 48));
  Generator rng(1);
  for (const int64_t rows : {1, 48, 20}) {
    const HostTensors in = sized_batch(rng, rows);
    step.run({in[0], in[1]});
    step.watch_memory();
    step.run({in[0], in[1]});
    EXPECT_EQ(step.measured_peak_bytes(), step.report().planned_peak_bytes) << rows;
  }
}

TEST(SizedStep, measures_the_steps_of_each_size) {
  SizedFit f;
  TrainStep step = f.step(dyn("B", 1, 12));
  step.profile_kernels(true);
  Generator rng(1);
  const HostTensors in = sized_batch(rng, 3);
  step.run({in[0], in[1]});
  ASSERT_FALSE(step.step_times().empty());
  int64_t sum = 0;
  for (const StepTime& t : step.step_times()) sum += t.ns;
  EXPECT_GT(sum, 0);
}

TEST(SizedStep, a_size_that_does_not_fit_changes_nothing) {
  SizedFit f;
  TrainStep step = f.step(dyn("B", 1, 12));
  Generator rng(1);
  const HostTensors few = sized_batch(rng, 3), many = sized_batch(rng, 13);
  EXPECT_EQ(message([&] { step.run({few[0], sized_batch(rng, 4)[1]}); }),
            "train_step: B is 3 in input 0 `x` (dim 0) and 4 in input 1 `y` (dim 0)");
  EXPECT_EQ(message([&] { step.run({many[0], many[1]}); }),
            "train_step: input 0 `x` (dim 0): B is 13, expected 1 to 12: got f32[13,4]");
  EXPECT_EQ(step.steps(), 0);
}

// It traces again long after the call, when a temporary optimizer is gone.
TEST(SizedStep, keeps_its_optimizer) {
  SizedFit f, g;
  const auto made = [](SizedFit& by, const OptimizerRef& optimizer) {
    return train_step(by.model, by.loss, optimizer, SizedFit::specs(dyn("B", 1, 12)));
  };
  TrainStep a = made(f, std::make_shared<optim::AdamW>(optim::AdamW({.lr = 0.1})));
  TrainStep b = made(g, optim::AdamW({.lr = 0.1}));
  Generator rng(1);
  for (const int64_t rows : {2, 3}) {
    const HostTensors in = sized_batch(rng, rows);
    EXPECT_EQ(a.run({in[0], in[1]}).loss, b.run({in[0], in[1]}).loss);
  }
  const optim::AdamW adamw({.lr = 0.1});
  const optim::Optimizer& base = adamw;
  const optim::Adam& middle = adamw;
  for (const OptimizerRef& one : {OptimizerRef(base), OptimizerRef(middle)}) {
    const std::string text = message([&] { made(f, one); });
    EXPECT_NE(text.find("train_step: sizes of the inputs vary, so the step keeps the optimizer, "
                        "which is given by a base of its type; give it by its own type or as a "
                        "std::shared_ptr"),
              std::string::npos)
        << text;
  }
  train_step(f.model, f.loss, base, SizedFit::specs(12));  // which is enough for one size
}

TEST(SizedStep, memory_trades_are_those_of_the_largest_sizes) {
  SizedFit f;
  const auto peaks = [&](const InputDim& rows) {
    return memory_trades(f.model, f.loss, optim::Adam({.lr = 0.01}), SizedFit::specs(rows))
        .front()
        .peak_bytes;
  };
  EXPECT_EQ(peaks(dyn("B", 1, 12)), peaks(12));
}

}  // namespace
}  // namespace cleave
