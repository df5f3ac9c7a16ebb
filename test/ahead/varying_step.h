// A training step whose batch may vary, and a library of it beside it.
#pragma once
#include "cleave/build.h"
#include "cleave/generator.h"
#include "cleave/loss.h"
#include "cleave/nn_activation.h"
#include "cleave/optim.h"
#include "test/ahead/library.h"

namespace cleave {

struct VaryingStep {
  TrainStep make(const TrainOptions& options, const InputDim& rows = dyn("B", 1, 8)) {
    return train_step(
        model, [m = model](const Tensor& x, const Tensor& y) { return mse_loss(m(x), y); },
        optim::AdamW({.lr = 1e-2}), {{"x", DType::f32, {rows, 3}}, {"y", DType::f32, {rows, 2}}},
        options);
  }
  HostTensors batch(int64_t rows) {
    return {rng.uniform({rows, 3}, -1, 1), rng.uniform({rows, 2}, -1, 1)};
  }
  Generator rng{7};
  nn::Sequential model{nn::Linear(3, 17, rng), nn::Tanh(), nn::Dropout(0.1),
                       nn::Linear(17, 2, rng)};
};

inline HostTensors scalars(size_t count) { return HostTensors(count, HostTensor(DType::f32, {})); }

// The library's state has the bits of the step's.
inline void expect_state(Opened& run, const TrainStep& step) {
  const Store store = step.store();
  for (const auto& [name, v] : store.entries()) {
    HostTensor got(v.dtype(), v.shape());
    ASSERT_EQ(run.get_state(name, got), CLEAVE_DONE) << run.message();
    EXPECT_TRUE(got.same_bits(v.value())) << name;
  }
}

}  // namespace cleave
