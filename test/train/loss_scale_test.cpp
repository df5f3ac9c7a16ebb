// The loss's scale inside of a step: when it grows and backs off, what a skipped step changes, and
// that it changes nothing else.
#include "train/loss_scale.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <filesystem>
#include <limits>
#include <optional>

#include "cleave/cleave.h"
#include "test/sample/fake_device.h"
#include "test/trace/traced.h"
#include "test/train/changing_net.h"

namespace cleave {
namespace {

using test::message;
using Net = test::ChangingNet;
using Names = std::vector<std::string>;

const std::vector<InputSpec>& specs = test::changing_net_specs;
constexpr float inf = std::numeric_limits<float>::infinity();

// A step and its data.
struct Session {
  Net net;
  Generator data{3};
  TrainStep step;
  HostTensor x, y;

  explicit Session(TrainOptions options = {}, std::shared_ptr<Backend> backend = nullptr) {
    options.compile.threads = 1;
    options.compile.backend = std::move(backend);
    step = train_step(
        net, [this](const Tensor& a, const Tensor& b) { return net(a, b); },
        optim::AdamW({.lr = 0.1}), specs, options);
  }
  void draw() {
    x = data.normal({4, 3});
    y = data.normal({4, 1});
  }
  StepResult run() {
    draw();
    return step.run({x, y});
  }
  StepResult run_with(float wrong) {
    draw();
    y.set_number(2, wrong);
    return step.run({x, y});
  }
};

TrainOptions f16(TrainOptions options = {}) {
  options.compile.autocast = DType::f16;
  return options;
}
// f32 with a scale: gradients have the bits of those without, times a power of two.
TrainOptions scaled_f32(TrainOptions options = {}) {
  options.loss_scaling = LossScaling::on;
  return options;
}

double state(const TrainStep& step, const std::string& name) {
  return step.store().at("optimizer." + name).value().number(0);
}

std::map<std::string, HostTensor> contents(const Store& store) {
  std::map<std::string, HostTensor> out;
  for (const auto& [name, v] : store.entries()) out.emplace(name, v.value());
  return out;
}
// The names of what differs, and of what only one has.
Names differing(const std::map<std::string, HostTensor>& a,
                const std::map<std::string, HostTensor>& b) {
  Names out;
  for (const auto& [name, v] : a)
    if (!b.contains(name) || !b.at(name).same_bits(v)) out.push_back(name);
  for (const auto& [name, v] : b)
    if (!a.contains(name)) out.push_back(name);
  return out;
}

TEST(LossScale, is_on_with_f16_and_off_by_name) {
  const auto scales = [](const TrainOptions& options) {
    return Session(options).step.graph_text().find("%optimizer.loss_scale") != std::string::npos;
  };
  EXPECT_TRUE(scales(f16()));
  EXPECT_FALSE(scales(f16({.loss_scaling = LossScaling::off})));
  EXPECT_FALSE(scales({}));
  EXPECT_FALSE(scales({.compile = {.autocast = DType::bf16}}));
  EXPECT_TRUE(scales(scaled_f32()));
  EXPECT_TRUE(scales(TrainOptions::parse("autocast=f16")));
  EXPECT_FALSE(scales(TrainOptions::parse("autocast=f16 loss_scaling=off")));
  const StepResult without = Session().run();
  EXPECT_EQ(without.loss_scale, 1);
  EXPECT_EQ(without.skipped_steps, 0);
}

TEST(LossScale, a_power_of_two_changes_no_bit_of_f32) {
  for (const TrainOptions& options :
       {TrainOptions{}, TrainOptions{.clip_norm = 0.1}, TrainOptions{.ema_decay = 0.9},
        TrainOptions{.clip_norm = 0.1, .accumulate = 2, .ema_decay = 0.9}}) {
    Session plain(options), scaled(scaled_f32(options));
    for (int i = 0; i < 6; ++i) {
      const StepResult want = plain.run(), got = scaled.run();
      EXPECT_EQ(got.loss, want.loss);
      EXPECT_EQ(got.grad_norm, want.grad_norm);
      EXPECT_EQ(got.loss_scale, 65536);
    }
    EXPECT_EQ(
        differing(contents(plain.step.store()), contents(scaled.step.store())),
        (Names{"optimizer.growth_tracker", "optimizer.loss_scale", "optimizer.skipped_steps"}));
  }
}

TEST(LossScale, a_skipped_step_changes_the_scale_buffers_and_random_numbers) {
  for (const bool in_f16 : {false, true})
    for (const float wrong : {inf, std::numeric_limits<float>::quiet_NaN()}) {
      Session s(in_f16 ? f16({.clip_norm = 1, .init_scale = 64, .ema_decay = 0.9})
                       : scaled_f32({.clip_norm = 1, .ema_decay = 0.9}));
      const double first = s.run().loss_scale;
      s.run();
      EXPECT_EQ(state(s.step, "growth_tracker"), 2);
      const auto before = contents(s.step.store());
      const StepResult r = s.run_with(wrong);
      EXPECT_FALSE(std::isfinite(r.loss));
      EXPECT_FALSE(std::isfinite(r.grad_norm));
      EXPECT_EQ(r.loss_scale, first);
      EXPECT_EQ(r.skipped_steps, 1);
      EXPECT_FALSE(r.skipped);
      EXPECT_EQ(differing(before, contents(s.step.store())),
                (Names{"norm.num_batches_tracked", "norm.running_mean", "norm.running_var",
                       "optimizer.growth_tracker", "optimizer.loss_scale",
                       "optimizer.skipped_steps", "rng"}));
      EXPECT_EQ(s.step.steps(), 2);
      EXPECT_EQ(s.run().loss_scale, first / 2);
      EXPECT_EQ(s.step.steps(), 3);
      EXPECT_EQ(state(s.step, "growth_tracker"), 1);
    }
}

// The rule of _amp_update_scale_, in C++.
struct Rule {
  TrainOptions options;
  float scale = static_cast<float>(options.init_scale);
  int64_t count = 0, skipped = 0;
  void update(bool found) {
    if (found) {
      scale = static_cast<float>(scale * options.backoff_factor);
      count = 0;
      ++skipped;
    } else if (++count == options.growth_interval) {
      const auto grown = static_cast<float>(scale * options.growth_factor);
      if (std::isfinite(grown)) scale = grown;
      count = 0;
    }
  }
};

TEST(LossScale, grows_and_backs_off_by_the_rule) {
  for (const TrainOptions& options :
       {TrainOptions{.init_scale = 1000, .growth_interval = 3},
        TrainOptions{
            .init_scale = 7, .growth_factor = 1.7, .backoff_factor = 0.3, .growth_interval = 1},
        TrainOptions{.init_scale = 1e38, .growth_factor = 1.5, .growth_interval = 2}}) {
    Session s(scaled_f32(options));
    Rule rule{options};
    Generator coin(9);
    for (int i = 0; i < 40; ++i) {
      const bool wrong = coin.uniform() < 0.25;
      const StepResult r = wrong ? s.run_with(inf) : s.run();
      EXPECT_EQ(r.loss_scale, rule.scale) << i;
      // A scale near the largest f32 makes gradients inf by itself.
      const bool found = state(s.step, "growth_tracker") == 0 && r.skipped_steps > rule.skipped;
      if (options.init_scale < 1e30) { EXPECT_EQ(found, wrong) << i; }
      rule.update(found);
      EXPECT_EQ(state(s.step, "loss_scale"), rule.scale) << i;
      EXPECT_EQ(state(s.step, "growth_tracker"), rule.count) << i;
      EXPECT_EQ(r.skipped_steps, rule.skipped) << i;
    }
    EXPECT_GT(rule.skipped, 0);
  }
}

// Below that its inverse would be inf, and with it all parameters.
TEST(LossScale, backs_off_no_farther_than_f32_has_an_inverse) {
  constexpr double smallest = std::numeric_limits<float>::min();
  Session s(scaled_f32({.init_scale = 3 * smallest}));
  const double rest[] = {1.5 * smallest, 1.5 * smallest, 1.5 * smallest};
  for (const double scale : rest) {
    s.run_with(inf);
    EXPECT_EQ(state(s.step, "loss_scale"), scale);
  }
  s.run();
  const Store store = s.step.store();
  int64_t parameters = 0;
  for (const auto& [name, v] : store.entries()) {
    if (v.kind() != VariableKind::parameter) continue;
    ++parameters;
    for (int64_t k = 0; k < v.value().numel(); ++k)
      EXPECT_TRUE(std::isfinite(v.value().number(k))) << name;
  }
  EXPECT_GT(parameters, 0);
}

// Gradients of 1e-8 are 0 in f16, and there with a scale.
TEST(LossScale, small_gradients_are_there_in_f16) {
  const auto bias_after = [](const TrainOptions& options) {
    Generator rng(1);
    const nn::Sequential net{nn::Linear(3, 4, rng), nn::Tanh(), nn::Linear(4, 1, rng)};
    TrainStep step = train_step(
        net, [&](const Tensor& x, const Tensor& y) { return mul(mse_loss(net(x), y), 1e-8); },
        optim::SGD({.lr = 1e6}), specs, options);
    Generator data(2);
    step.run({data.normal({4, 3}), data.normal({4, 1})});
    return net.parameter("0.bias").value().number(1);
  };
  Generator rng(1);
  const double start = nn::Linear(3, 4, rng).parameter("bias").value().number(1);
  const double exact = bias_after({}) - start;
  EXPECT_NE(exact, 0);
  EXPECT_EQ(bias_after(f16({.loss_scaling = LossScaling::off})) - start, 0);
  EXPECT_NEAR(bias_after(f16()) - start, exact, 0.01 * std::fabs(exact));
}

// The scale is halved until the gradients fit.
TEST(LossScale, finds_a_scale_that_f16_holds) {
  Session s(f16({.init_scale = 0x1p40}));
  int skipped = 0;
  for (int i = 0; i < 40; ++i) skipped = static_cast<int>(s.run().skipped_steps);
  EXPECT_GT(skipped, 10);
  EXPECT_LT(skipped, 35);
  EXPECT_EQ(state(s.step, "loss_scale"), std::ldexp(1.0, 40 - skipped));
  EXPECT_EQ(s.step.steps(), 40 - skipped);
}

TEST(LossScale, one_inf_among_accumulated_runs_skips_their_step) {
  Session s(scaled_f32({.clip_norm = 1, .accumulate = 3, .growth_interval = 2}));
  std::map<std::string, HostTensor> before;
  for (int i = 0; i < 9; ++i) {
    const StepResult r = i == 4 ? s.run_with(inf) : s.run();
    EXPECT_EQ(r.loss_scale, i < 6 ? 65536 : 32768) << i;
    EXPECT_EQ(r.skipped_steps, i < 5 ? 0 : 1) << i;
    if (i == 2) before = contents(s.step.store());
    if (i != 5) continue;
    const auto after = contents(s.step.store());
    for (const std::string& name : differing(before, after))
      EXPECT_TRUE(name.starts_with("norm.") || name == "rng" ||
                  name == "optimizer.growth_tracker" || name == "optimizer.loss_scale" ||
                  name == "optimizer.skipped_steps")
          << name;
  }
  EXPECT_EQ(s.step.steps(), 2);
}

TEST(LossScale, a_device_has_the_processors_bits_and_nobody_waits) {
  for (const TrainOptions& options : {f16({.clip_norm = 1, .growth_interval = 2, .ema_decay = 0.9}),
                                      f16({.accumulate = 2, .init_scale = 0x1p24})}) {
    test::FakeDevice device;
    Session here(options), there(options, device.backend);
    std::vector<StepResult> want, got;
    for (int i = 0; i < 8; ++i) {
      want.push_back(i == 3 ? here.run_with(inf) : here.run());
      got.push_back(i == 3 ? there.run_with(inf) : there.run());
    }
    for (int i = 0; i < 8; ++i) {
      const auto bits = [](double v) { return std::bit_cast<uint64_t>(v); };
      EXPECT_EQ(std::isnan(got[i].loss), std::isnan(want[i].loss));
      if (!std::isnan(want[i].loss)) { EXPECT_EQ(bits(got[i].loss), bits(want[i].loss)); }
      EXPECT_EQ(got[i].loss_scale, want[i].loss_scale);
      EXPECT_EQ(got[i].skipped_steps, want[i].skipped_steps);
    }
    EXPECT_GT(want[7].skipped_steps, 0);
    EXPECT_EQ(differing(contents(here.step.store()), contents(there.step.store())), Names());
    // A device's storages are rounded up further.
    EXPECT_GE(there.step.report().planned_peak_bytes, here.step.report().planned_peak_bytes);
    EXPECT_EQ(device.wrong(), "");
  }
}

TEST(LossScale, a_budget_and_interpreted_kernels_change_no_bit) {
  const auto trained = [](CompileOptions compile) {
    compile.autocast = DType::f16;
    Session s({.compile = compile, .clip_norm = 1, .growth_interval = 2});
    for (int i = 0; i < 6; ++i) i == 3 ? s.run_with(inf) : s.run();
    return contents(s.step.store());
  };
  const auto want = trained({});
  EXPECT_EQ(differing(want, trained({.memory_budget = MemoryBudget::percent(90)})), Names());
  EXPECT_EQ(differing(want, trained({.compiler = CompilerChoice::none})), Names());
}

TEST(LossScale, a_checkpoint_resumes_to_the_bit) {
  const std::string path =
      (std::filesystem::temp_directory_path() / fmt::format("loss_scale.{}", getpid())).string();
  const TrainOptions options = f16({.init_scale = 0x1p24, .growth_interval = 3});
  Session whole(options), resumed(options);
  for (int i = 0; i < 12; ++i) whole.run();
  save_checkpoint(path, whole.step.store());
  EXPECT_GT(state(whole.step, "skipped_steps"), 0);
  load_checkpoint(path, resumed.step.store());
  for (int i = 0; i < 12; ++i) resumed.draw();
  for (int i = 0; i < 6; ++i) {
    const StepResult want = whole.run(), got = resumed.run();
    EXPECT_EQ(got.loss, want.loss);
    EXPECT_EQ(got.loss_scale, want.loss_scale);
    EXPECT_EQ(got.skipped_steps, want.skipped_steps);
  }
  EXPECT_EQ(differing(contents(whole.step.store()), contents(resumed.step.store())), Names());
  // A file of a step without a scale: it stays as it is.
  Session plain;
  save_checkpoint(path, plain.step.store());
  load_checkpoint(path, resumed.step.store());
  EXPECT_EQ(resumed.step.steps(), 0);
  EXPECT_EQ(state(resumed.step, "loss_scale"), state(whole.step, "loss_scale"));
  // And of one with a scale into a step without: it is skipped, but nothing else is.
  save_checkpoint(path, whole.step.store());
  load_checkpoint(path, plain.step.store());
  EXPECT_EQ(plain.step.steps(), whole.step.steps());
  EXPECT_TRUE(plain.net.parameter("head.weight")
                  .value()
                  .same_bits(whole.net.parameter("head.weight").value()));
  Store more = whole.step.store();
  more.add("optimizer.other",
           Variable("optimizer.other", HostTensor(DType::f32, {}), VariableKind::state));
  save_checkpoint(path, more);
  EXPECT_NE(message([&] {
              load_checkpoint(path, plain.step.store());
            }).find("1 unexpected: optimizer.other"),
            std::string::npos);
  std::filesystem::remove(path);
}

TEST(LossScale, watched_gradients_are_those_of_the_loss) {
  const auto gradient = [](TrainOptions options) {
    options.compile.watch = {"grad.body.weight", "grad.h"};
    Generator rng(1);
    nn::Module net;
    const nn::Linear body = net.add_module("body", nn::Linear(3, 1, rng));
    TrainStep step = train_step(
        net, [&](const Tensor& x, const Tensor& y) { return mse_loss(body(x).named("h"), y); },
        optim::SGD({.lr = 1}), specs, options);
    Generator data(2);
    step.run({data.normal({4, 3}), data.normal({4, 1})});
    return std::pair(step.value("grad.body.weight"), step.value("grad.h"));
  };
  const auto want = gradient({}), got = gradient(scaled_f32());
  EXPECT_TRUE(got.first.same_bits(want.first));
  EXPECT_TRUE(got.second.same_bits(want.second));
}

TEST(LossScale, parameters_in_f16_are_unscaled_in_f32) {
  Generator rng(1);
  nn::Linear layer(3, 1, rng, {.dtype = DType::f16});
  const auto moved = [&](LossScaling scaling) {
    nn::Linear own = nn::clone(layer);
    TrainStep step =
        train_step(own,
                   [&](const Tensor& x, const Tensor& y) {
                     return mse_loss(to(own(to(x, DType::f16)), DType::f32), y);
                   },
                   optim::SGD({.lr = 1}), specs, {.loss_scaling = scaling, .init_scale = 256});
    Generator data(2);
    step.run({data.normal({4, 3}), data.normal({4, 1})});
    return own.parameter("weight").value();
  };
  const HostTensor want = moved(LossScaling::off), got = moved(LossScaling::on);
  EXPECT_TRUE(got.same_bits(want));
}

TEST(LossScale, a_loss_that_is_not_finite_is_the_guards_matter) {
  Session skips(f16({.on_nonfinite = NonFinite::skip_step}));
  skips.run();
  const auto before = contents(skips.step.store());
  EXPECT_TRUE(skips.run_with(inf).skipped);
  EXPECT_EQ(differing(before, contents(skips.step.store())), Names{"rng"});
  Session fails(f16({.on_nonfinite = NonFinite::error}));
  EXPECT_NE(message([&] { fails.run_with(inf); }).find("the loss is inf; the first value"),
            std::string::npos);
  // A gradient that isn't is the scale's.
  Session large(f16({.on_nonfinite = NonFinite::error, .init_scale = 0x1p40}));
  EXPECT_EQ(large.run().skipped_steps, 1);
}

TEST(LossScale, options_out_of_range_are_refused) {
  const auto told = [](const TrainOptions& options) {
    return message([&] { Session s(scaled_f32(options)); });
  };
  EXPECT_NE(
      told({.init_scale = 0}).find("init_scale is 0, expected a number of f32, at least 1.18e-38"),
      std::string::npos);
  EXPECT_NE(told({.init_scale = 1e-44}).find("init_scale is 1e-44"), std::string::npos);
  EXPECT_NE(told({.init_scale = 1e39}).find("init_scale is 1e+39"), std::string::npos);
  EXPECT_NE(told({.init_scale = NAN}).find("init_scale is nan"), std::string::npos);
  EXPECT_NE(told({.growth_factor = 1}).find("growth_factor is 1, expected a number above 1"),
            std::string::npos);
  EXPECT_NE(told({.backoff_factor = 1}).find("backoff_factor is 1, expected a number in (0, 1)"),
            std::string::npos);
  EXPECT_NE(told({.growth_interval = 0}).find("growth_interval is 0, expected 1 to 2147483647"),
            std::string::npos);
  EXPECT_EQ(message([] { Session s({.growth_interval = 0}); }), "no error");  // there is no scale
}

}  // namespace
}  // namespace cleave
