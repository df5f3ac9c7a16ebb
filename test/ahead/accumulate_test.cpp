// Libraries of steps that gather gradients: two programs, chosen by the micro step in the state.
// tests: trace_source.cpp standalone/instance.cpp
#include <cmath>

#include "test/ahead/varying_step.h"

namespace cleave {
namespace {

TEST(Accumulate, a_step_that_gathers_is_the_step_over_all_micro_steps) {
  for (const bool varies : {false, true}) {
    VaryingStep mlp;
    TrainStep step = mlp.make({.clip_norm = 1.0, .accumulate = 3, .ema_decay = 0.9},
                              varies ? InputDim(dyn("B", 1, 8)) : InputDim(6));
    const Folder folder;
    BuildOptions options;
    if (varies) options.sizes = {{"B", {2, 6}}};
    Library library(build(step, folder / "step.so", options).path, "step");
    Opened run(library);
    HostTensor micro(DType::i64, {});
    for (int64_t i = 0; i < 8; ++i) {
      const HostTensors batch = mlp.batch(varies && i % 2 == 0 ? 2 : 6);
      const StepResult expected = step.run({batch[0], batch[1]});
      HostTensors out = scalars(2);
      out[1].set_number(0, 77);
      ASSERT_EQ(run.run(batch, out), CLEAVE_DONE) << run.message();
      EXPECT_EQ(out[0].number(0), expected.loss) << i;
      EXPECT_EQ(out[1].number(0), expected.grad_norm) << i;  // 0 where it isn't computed
      ASSERT_EQ(run.get_state("optimizer.micro_step", micro), CLEAVE_DONE);
      EXPECT_EQ(*micro.data<int64_t>(), (i + 1) % 3);
      expect_state(run, step);
      cleave_tensor norm{};
      auto* const result_of =
          library.get<int(cleave_instance*, size_t, cleave_tensor*, cleave_error*)>("result");
      const bool gathers = i % 3 != 2;
      EXPECT_EQ(result_of(run.get(), 1, &norm, &library.error),
                gathers ? CLEAVE_USER_ERROR : CLEAVE_DONE);
      const char* const told =
          "step_result: the last run doesn't update the parameters and doesn't compute `grad_norm`";
      EXPECT_EQ(run.message(), gathers ? told : "");
    }
  }
}

TEST(Accumulate, micro_steps_are_state_that_is_set) {
  VaryingStep mlp;
  TrainStep step = mlp.make({.accumulate = 3}, 6);
  const Folder folder;
  Library library(build(step, folder / "step.so").path, "step");
  Opened run(library);
  HostTensors batch = mlp.batch(6), out = scalars(1);
  ASSERT_EQ(run.run(batch, out), CLEAVE_DONE) << run.message();
  // What a checkpoint holds after a micro step, in a new instance.
  Opened resumed(library);
  const Store store = step.store();
  step.run({batch[0], batch[1]});
  for (const auto& [name, v] : store.entries())
    ASSERT_EQ(resumed.set_state(name, v.value()), CLEAVE_DONE) << resumed.message();
  for (int i = 0; i < 5; ++i) {
    batch = mlp.batch(6);
    const double expected = step.run({batch[0], batch[1]}).loss;
    for (Opened* each : {&run, &resumed}) {
      ASSERT_EQ(each->run(batch, out), CLEAVE_DONE) << each->message();
      EXPECT_EQ(out[0].number(0), expected) << i;
    }
  }
}

TEST(Accumulate, a_micro_step_that_is_skipped_changes_the_random_state_alone) {
  VaryingStep mlp;
  TrainStep step = mlp.make({.accumulate = 2, .on_nonfinite = NonFinite::skip_step});
  const Folder folder;
  Library library(build(step, folder / "step.so", {.sizes = {{"B", {4, 8}}}}).path, "step");
  Opened run(library);
  for (int i = 0; i < 7; ++i) {
    HostTensors batch = mlp.batch(i % 3 == 0 ? 4 : 8), out;
    if (i == 1 || i == 4) batch[1].set_number(0, INFINITY);
    const StepResult expected = step.run({batch[0], batch[1]});
    EXPECT_EQ(run.run(batch, out), expected.skipped ? CLEAVE_USER_ERROR : CLEAVE_DONE) << i;
    EXPECT_EQ(expected.skipped, i == 1 || i == 4);
    EXPECT_EQ(run.message().ends_with("; the step was skipped"), expected.skipped);
    expect_state(run, step);
  }
}

TEST(Accumulate, the_scale_of_the_loss_is_state_and_a_result) {
  VaryingStep mlp;
  TrainStep step =
      mlp.make({.accumulate = 2, .loss_scaling = LossScaling::on, .growth_interval = 2}, 6);
  const Folder folder;
  Library library(build(step, folder / "step.so").path, "step");
  Opened run(library);
  for (int i = 0; i < 8; ++i) {
    HostTensors batch = mlp.batch(6), out = scalars(1);
    out.resize(3, HostTensor(DType::f64, {}));
    if (i == 2) batch[1].set_number(0, INFINITY);
    const StepResult expected = step.run({batch[0], batch[1]});
    ASSERT_EQ(run.run(batch, out), CLEAVE_DONE) << run.message();
    EXPECT_EQ(out[1].number(0), expected.loss_scale) << i;
    EXPECT_EQ(out[2].number(0), expected.skipped_steps) << i;
    expect_state(run, step);
  }
  EXPECT_EQ(step.steps(), 3);
  EXPECT_EQ(step.store().at("optimizer.loss_scale").value().number(0), 65536);
}

}  // namespace
}  // namespace cleave
