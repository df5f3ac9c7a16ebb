// Parameters in the host program's memory: a block that it allocated, shares or maps. The training
// step writes them there; the program reads them without a copy.
#include <cleave/cleave.h>

#include <cstdio>
#include <vector>

using namespace cleave;

int main() {
  Generator rng(1);
  nn::Sequential model(nn::Linear(4, 32, rng), nn::ReLU(), nn::Linear(32, 4, rng));

  // The block, and each parameter bound to its part of it; initial values are copied.
  std::vector<float> block(static_cast<size_t>(model.parameter_count()));
  float* at = block.data();
  for (auto& [name, parameter] : model.named_parameters()) {
    parameter.bind(HostTensor::borrow(DType::f32, parameter.shape(), at), Contents::of_variable);
    std::printf("%-8s %-8s at byte %td\n", name.c_str(), parameter.value().type_text().c_str(),
                (at - block.data()) * static_cast<std::ptrdiff_t>(sizeof(float)));
    at += parameter.value().numel();
  }

  TrainStep step =
      train_step(model, [&](const Tensor& x) { return mse_loss(model(x), x * 2.0); },
                 optim::SGD({.lr = 0.05, .momentum = 0.9}), {{"x", DType::f32, {64, 4}}});
  CompiledFunction predict =
      compile(model, [&](const Tensor& x) { return model(x); }, {{"x", DType::f32, {1, 4}}});
  const std::vector<float> before = block;
  double loss = 0;
  for (int i = 0; i < 200; ++i) loss = step.run({rng.uniform({64, 4}, -1, 1)}).loss;
  std::printf("loss %.5f, the block has changed: %s\n", loss, block != before ? "yes" : "no");

  // What the program writes into the block, the next prediction reads.
  const HostTensor x = rng.uniform({1, 4}, -1, 1);
  const double learned = predict.run({x})[0].number(0);
  for (float& w : block) w = 0;
  const double zeroed = predict.run({x})[0].number(0);
  std::printf("f(%.3f) = %.3f, with all weights zero %.3f\n", x.number(0), learned, zeroed);
  return block != before && loss < 0.05 && zeroed == 0 && learned != 0 ? 0 : 1;
}
