// A net with all that a run can change: parameters, running statistics, random numbers.
#pragma once
#include "cleave/cleave.h"

namespace cleave::test {

struct ChangingNet : nn::Module {
  Generator rng{1};
  nn::Linear body{add_module("body", nn::Linear(3, 4, rng))};
  nn::BatchNorm1d norm{add_module("norm", nn::BatchNorm1d(4))};
  nn::Dropout drop{add_module("drop", nn::Dropout(0.5))};
  nn::Linear head{add_module("head", nn::Linear(4, 1, rng))};
  Tensor operator()(const Tensor& x, const Tensor& y) const {
    return mse_loss(head(drop(norm(body(x)))), y);
  }
};

inline const std::vector<InputSpec> changing_net_specs = {{"x", DType::f32, {4, 3}},
                                                          {"y", DType::f32, {4, 1}}};

}  // namespace cleave::test
