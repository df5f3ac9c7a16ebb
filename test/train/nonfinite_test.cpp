// Runs of a training step whose loss or gradients are not finite: TrainOptions::on_nonfinite.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>

#include "cleave/cleave.h"
#include "test/trace/traced.h"
#include "test/train/changing_net.h"

namespace cleave {
namespace {

using test::message;
using Net = test::ChangingNet;

const std::vector<InputSpec>& specs = test::changing_net_specs;
constexpr float inf = std::numeric_limits<float>::infinity();

TrainStep made(const Net& net, TrainOptions options) {
  options.compile.threads = 1;
  options.ema_decay = 0.9;
  return train_step(
      net, [&](const Tensor& x, const Tensor& y) { return net(x, y); }, optim::AdamW({.lr = 0.1}),
      specs, options);
}

struct Data {
  Generator rng{3};
  HostTensor x = rng.normal({4, 3}), y = rng.normal({4, 1});
  HostTensor wrong(float v) const {
    HostTensor out(x);
    out.at<float>({1, 2}) = v;
    return out;
  }
};

std::map<std::string, HostTensor> contents(const Store& store) {
  std::map<std::string, HostTensor> out;
  for (const auto& [name, v] : store.entries()) out.emplace(name, v.value());
  return out;
}

// The names of what differs.
std::vector<std::string> changed(const std::map<std::string, HostTensor>& before,
                                 const Store& store) {
  std::vector<std::string> out;
  for (const auto& [name, v] : store.entries())
    if (!before.at(name).same_bits(v.value())) out.push_back(name);
  return out;
}

TEST(NonFinite, kept_is_the_default) {
  const Net net;
  const Data d;
  TrainStep step = made(net, {});
  EXPECT_FALSE(step.run({d.wrong(inf), d.y}).skipped);
  EXPECT_TRUE(std::isnan(net.head.parameter("bias").value().number(0)));
  EXPECT_EQ(step.graph_text().find("_functional_assert_async"), std::string::npos);
  EXPECT_EQ(step.graph_text().find("grad_norm"), std::string::npos);
}

TEST(NonFinite, a_skipped_run_has_no_outputs) {
  nn::Module model;
  const Variable w = model.add_parameter("w", HostTensor::from<float>({1, 2}));
  TrainStep step =
      train_step(model,
                 [&](const Tensor& x) {
                   const Tensor y = x * Tensor(w);
                   return Tensors{sum(y), y};
                 },
                 optim::SGD({}), {{"x", DType::f32, {2}}}, {.on_nonfinite = NonFinite::skip_step});
  const std::string none =
      "train_step: it has no outputs: it did not run yet, or the last run failed or was skipped";
  EXPECT_EQ(message([&] { step.output(0); }), none);
  step.run({HostTensor::from<float>({1, 1})});
  EXPECT_EQ(step.output(0).to_vector<float>(), (std::vector<float>{1, 2}));
  EXPECT_TRUE(step.run({HostTensor::from<float>({inf, 1})}).skipped);
  EXPECT_EQ(message([&] { step.output(0); }), none);
  EXPECT_EQ(message([&] { step.output_view(0); }), none);
}

TEST(NonFinite, a_skipped_run_changes_random_numbers_alone) {
  for (const int64_t accumulate : {1, 3}) {
    const Net net;
    const Data d;
    TrainStep step = made(net, {.accumulate = accumulate, .on_nonfinite = NonFinite::skip_step});
    for (int64_t micro = 0; micro < 2 * accumulate; ++micro) {
      const auto before = contents(step.store());
      for (const float v : {inf, -inf, std::nanf("")}) {
        const StepResult r = step.run({d.wrong(v), d.y});
        EXPECT_TRUE(r.skipped);
        EXPECT_FALSE(std::isfinite(r.loss));
      }
      EXPECT_EQ(changed(before, step.store()), std::vector<std::string>{"rng"});
      EXPECT_EQ(step.store().at("rng").value().number(1), before.at("rng").number(1) + 3);
      const StepResult r = step.run({d.x, d.y});
      EXPECT_FALSE(r.skipped);
      EXPECT_TRUE(std::isfinite(r.loss));
      EXPECT_EQ(step.steps(), (micro + 1) / accumulate);
    }
  }
}

// The guard costs what clipping costs: no update is written to other memory and copied.
TEST(NonFinite, costs_no_copy) {
  nn::Module model;
  Generator rng(1);
  nn::Linear in(256, 256, rng), out(256, 256, rng);
  model.add_module("in", in);
  model.add_module("out", out);
  const auto made = [&](TrainOptions options) {
    options.compile.threads = 1;
    return train_step(
        model, [&](const Tensor& x) { return mean(square(out(relu(in(x))))); }, optim::AdamW({}),
        {{"x", DType::f32, {8, 256}}}, options);
  };
  TrainStep clipped = made({.clip_norm = 1});
  TrainStep checked = made({.on_nonfinite = NonFinite::skip_step});
  EXPECT_LE(checked.report().planned_peak_bytes, clipped.report().planned_peak_bytes + 4096);
  EXPECT_LE(checked.report().kernels, clipped.report().kernels + 4);
}

// Runs that are skipped leave no trace in the others.
TEST(NonFinite, the_others_are_as_without_it) {
  const Data d;
  const auto trained = [&](NonFinite how, bool with_wrong) {
    const Net net;
    TrainStep step = made(net, {.accumulate = 2, .on_nonfinite = how});
    Variable rng = step.store().at("rng");
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(with_wrong, with_wrong && step.run({d.wrong(inf), d.y}).skipped);
      rng.data<int64_t>()[1] = i;
      step.run({d.x, d.y});
    }
    return contents(step.store());
  };
  const auto kept = trained(NonFinite::keep, false), skipping = trained(NonFinite::skip_step, true);
  for (const auto& [name, t] : kept) EXPECT_TRUE(t.same_bits(skipping.at(name))) << name;
}

// Under a budget values run again, in mixed precision losses are f32: the guard sees the same.
TEST(NonFinite, with_a_budget_and_mixed_precision) {
  nn::Module model;
  Generator rng(1);
  nn::Linear in(32, 32, rng), out(32, 32, rng);
  model.add_module("in", in);
  model.add_module("out", out);
  const HostTensor x = Generator(2).normal({64, 32});
  for (const std::optional<DType> autocast : {std::optional<DType>(), {DType::f16}}) {
    TrainStep step = train_step(
        model, [&](const Tensor& t) { return mean(square(out(tanh(exp(tanh(in(t))))))); },
        optim::SGD({.lr = 0.1}), {{"x", DType::f32, {64, 32}}},
        {.compile = {.threads = 1,
                     .memory_budget = MemoryBudget::percent(autocast ? 100 : 95),
                     .autocast = autocast},
         .on_nonfinite = NonFinite::skip_step,
         .loss_scaling = LossScaling::off});
    EXPECT_FALSE(step.run({x}).skipped);
    const auto before = contents(step.store());
    HostTensor wrong(x);
    wrong.at<float>({63, 31}) = std::nanf("");
    EXPECT_TRUE(step.run({wrong}).skipped);
    EXPECT_TRUE(changed(before, step.store()).empty());
    EXPECT_EQ(step.steps(), 1);
  }
}

// A loss that is finite, of which a gradient isn't: the root of 0.
TEST(NonFinite, a_gradient_alone) {
  nn::Module model;
  const Variable w = model.add_parameter("w", HostTensor::from<float>({0, 1}));
  TrainStep step = train_step(model, [&](const Tensor& x) { return sum(sqrt(Tensor(w)) * x); },
                              optim::SGD({.lr = 1}), {{"x", DType::f32, {2}}},
                              {.on_nonfinite = NonFinite::skip_step});
  const StepResult r = step.run({HostTensor::from<float>({1, 2})});
  EXPECT_EQ(r.loss, 2);
  EXPECT_TRUE(r.skipped);
  EXPECT_TRUE(std::isinf(r.grad_norm));
  EXPECT_EQ(w.value().to_vector<float>(), (std::vector<float>{0, 1}));
}

// A norm beyond f32's range is not finite; the gradients alone would be.
TEST(NonFinite, a_norm_beyond_the_range) {
  nn::Module model;
  const Variable w = model.add_parameter("w", HostTensor::from<float>({0, 1}));
  const auto made_as = [&](NonFinite how) {
    return train_step(model, [&](const Tensor& x) { return sum(Tensor(w) * x); },
                      optim::SGD({.lr = 1e-30}), {{"x", DType::f32, {2}}}, {.on_nonfinite = how});
  };
  const HostTensor x = HostTensor::from<float>({3e38f, 3e38f});
  EXPECT_TRUE(made_as(NonFinite::skip_step).run({x}).skipped);
  EXPECT_EQ(message([&] { made_as(NonFinite::error).run({x}); }).substr(0, 77),
            "train_step: the norm of the gradients is inf; the first value that isn't fini");
}

struct Named {
  nn::Module model;
  Variable w = model.add_parameter("w", HostTensor::from<float>({2, 3}));
  int line = 0;
  TracedFunction loss = [this](const Tensor& x) {
    const Tensor mask = where(gt(x, 50), full({2}, -inf), zeros({2}));  // softmax makes it 0
    const Tensor soft = softmax(Tensor(w) + mask, 0);
    line = __LINE__ + 1;
    const Tensor r = log(x * Tensor(w)).named("r");
    return mean((r - r).named("rest") + r + soft);
  };
  TrainStep step() {
    return train_step(model, loss, optim::SGD({.lr = 1}), {{"x", DType::f32, {2}}},
                      {.on_nonfinite = NonFinite::error});
  }
};

TEST(NonFinite, an_error_names_the_first_value_and_its_line) {
  Named n;
  TrainStep step = n.step();
  const auto before = contents(step.store());
  const std::string text = message([&] { step.run({HostTensor::from<float>({60, 0})}); });
  EXPECT_EQ(text, fmt::format(
                      "train_step: the loss is nan; the first value that isn't finite is %r, -inf "
                      "at [1]:\n  %r = log(%mul) : f32[2]  # nonfinite_test.cpp:{}\n"
                      "the first nan is %rest, nan at [1]:\n"
                      "  %rest = sub(%r, %r) : f32[2]  # nonfinite_test.cpp:{}",
                      n.line, n.line + 1));
  EXPECT_TRUE(changed(before, step.store()).empty());
  EXPECT_FALSE(step.run({HostTensor::from<float>({1, 2})}).skipped);
}

TEST(NonFinite, an_error_names_an_input_or_a_parameter) {
  Named n;
  TrainStep step = n.step();
  EXPECT_EQ(message([&] { step.run({HostTensor::from<float>({1, std::nanf("")})}); }),
            "train_step: the loss is nan; the first value that isn't finite is %x, nan at [1]: "
            "input f32[2]");
  n.w.data<float>()[0] = inf;
  const std::string text = message([&] { step.run({HostTensor::from<float>({1, 2})}); });
  EXPECT_NE(text.find("the first value that isn't finite is %w, inf at [0]: param f32[2]"),
            std::string::npos)
      << text;
}

// Values that overflow in f32: the oracle's f64 would hold them.
TEST(NonFinite, an_error_finds_an_overflow) {
  nn::Module model;
  const Variable w = model.add_parameter("w", HostTensor::from<float>({1, 1}));
  TrainStep step = train_step(
      model, [&](const Tensor& x) { return mean(exp(x * Tensor(w)).named("e")); },
      optim::SGD({.lr = 1}), {{"x", DType::f32, {2}}}, {.on_nonfinite = NonFinite::error});
  const std::string text = message([&] { step.run({HostTensor::from<float>({1, 100})}); });
  EXPECT_EQ(text.find("train_step: the loss is inf; the first value that isn't finite is %e, inf "
                      "at [1]:\n  %e = exp("),
            0u)
      << text;
}

TEST(NonFinite, an_error_can_be_repeated) {
  const Net net;
  const Data d;
  TrainStep step = made(net, {.accumulate = 2, .on_nonfinite = NonFinite::error});
  for (int micro = 0; micro < 2; ++micro) {
    const auto before = contents(step.store());
    const std::string first = message([&] { step.run({d.wrong(inf), d.y}); });
    EXPECT_EQ(message([&] { step.run({d.wrong(inf), d.y}); }), first);
    EXPECT_NE(first.find("%x, inf at [1,2]: input f32[4,3]"), std::string::npos) << first;
    EXPECT_TRUE(changed(before, step.store()).empty());
    step.run({d.x, d.y});
  }
}

// ---- the gradient's norm

TEST(GradNorm, is_reported_without_clipping) {
  const Data d;
  const auto trained = [&](const TrainOptions& options, std::vector<double>& norms) {
    const Net net;
    TrainStep step = made(net, options);
    for (int i = 0; i < 3; ++i) norms.push_back(step.run({d.x, d.y}).grad_norm);
    return contents(step.store());
  };
  std::vector<double> none, reported, infinite, checked, clipped;
  const auto want = trained({}, none);
  const auto same = [&](const std::map<std::string, HostTensor>& got) {
    for (const auto& [name, t] : want) EXPECT_TRUE(t.same_bits(got.at(name))) << name;
  };
  same(trained({.report_grad_norm = true}, reported));
  same(trained({.clip_norm = std::numeric_limits<double>::infinity()}, infinite));
  same(trained({.on_nonfinite = NonFinite::error}, checked));
  trained({.clip_norm = 1e9}, clipped);
  EXPECT_EQ(none, std::vector<double>(3, 0));
  EXPECT_GT(reported[0], 0);
  EXPECT_EQ(reported, infinite);
  EXPECT_EQ(reported, checked);
  EXPECT_EQ(reported[0], clipped[0]);
}

TEST(GradNorm, errors) {
  const Net net;
  EXPECT_NE(message([&] {
              made(net, {.clip_norm = std::nan("")});
            }).find("train_step: clip_norm is nan, expected 0 or more"),
            std::string::npos);
}

}  // namespace
}  // namespace cleave
