// Fits z = sin(3x) cos(2y): forward, backward, clipping and AdamW are one compiled program.
#include <cleave/cleave.h>

#include <cmath>
#include <cstdio>

using namespace cleave;

int main() {
  Generator rng(42);
  nn::Sequential model(nn::Linear(2, 64, rng), nn::Tanh(), nn::Linear(64, 64, rng), nn::Tanh(),
                       nn::Linear(64, 1, rng));
  TrainStep step =
      train_step(model, [&](const Tensor& xy, const Tensor& z) { return mse_loss(model(xy), z); },
                 optim::AdamW({.lr = 5e-3}),
                 {{"xy", DType::f32, {256, 2}}, {"z", DType::f32, {256, 1}}}, {.clip_norm = 1.0});
  double first = 0, last = 0;
  for (int i = 0; i <= 500; ++i) {
    HostTensor xy = rng.uniform({256, 2}, -1, 1), z(DType::f32, {256, 1});
    for (int64_t k = 0; k < 256; ++k)
      z.at<float>({k, 0}) = std::sin(3 * xy.at<float>({k, 0})) * std::cos(2 * xy.at<float>({k, 1}));
    step.set_learning_rate(optim::cosine(i, 5e-3, 20, 500));
    last = step.run({xy, z}).loss;
    if (i == 0) first = last;
    if (i % 100 == 0) std::printf("step %3d  loss %.5f\n", i, last);
  }
  std::printf("compiled in %.0f ms\n", step.report().compile_ms);
  return last < first / 20 ? 0 : 1;
}
