// build(): programs of the public API as libraries, with the bits of the programs themselves.
// tests: build_library.cpp pack_program.cpp compile_units.cpp link_library.cpp weights.cpp
// tests: describe.cpp c_text.cpp
#include "cleave/build.h"

#include "cleave/generator.h"
#include "cleave/loss.h"
#include "cleave/nn_activation.h"
#include "cleave/optim.h"
#include "test/ahead/library.h"

namespace cleave {
namespace {

struct Mlp {
  Generator rng{7};
  nn::Sequential model{nn::Linear(3, 17, rng), nn::Tanh(), nn::Dropout(0.1),
                       nn::Linear(17, 2, rng)};
  TrainStep step =
      train_step(model, [&](const Tensor& x, const Tensor& y) { return mse_loss(model(x), y); },
                 optim::AdamW({.lr = 1e-2}), {{"x", DType::f32, {8, 3}}, {"y", DType::f32, {8, 2}}},
                 {.clip_norm = 1.0});
  HostTensors batch() { return {rng.uniform({8, 3}, -1, 1), rng.uniform({8, 2}, -1, 1)}; }
};

float loss_of(Opened& run, const HostTensors& batch) {
  HostTensors out = {HostTensor(DType::f32, {}), HostTensor(DType::f32, {})};  // and the norm
  EXPECT_EQ(run.run(batch, out), CLEAVE_DONE) << run.message();
  return *out[0].data<float>();
}

TEST(Build, a_training_step_has_the_losses_and_the_state_of_the_step) {
  Mlp mlp;
  const Folder folder;
  const BuiltLibrary built = build(mlp.step, folder / "step.so");
  Library library(built.path, "step");
  Opened run(library), other(library);
  std::vector<HostTensors> batches;
  for (int i = 0; i < 5; ++i) batches.push_back(mlp.batch());
  std::vector<float> losses;
  for (const HostTensors& b : batches) {
    losses.push_back(static_cast<float>(mlp.step.run({b[0], b[1]}).loss));
    EXPECT_EQ(loss_of(run, b), losses.back());
  }
  const Store store = mlp.step.store();
  for (const auto& [name, v] : store.entries()) {
    HostTensor got(v.dtype(), v.shape());
    ASSERT_EQ(run.get_state(name, got), CLEAVE_DONE) << run.message();
    EXPECT_TRUE(got.same_bits(v.value())) << name;
  }
  // The other instance has a state of its own, which began as the step's did.
  for (size_t i = 0; i < batches.size(); ++i) EXPECT_EQ(loss_of(other, batches[i]), losses[i]);
}

}  // namespace
}  // namespace cleave
