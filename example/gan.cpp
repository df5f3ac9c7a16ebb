// A Wasserstein GAN with gradient penalty (Gulrajani et al., 2017) of points on a ring of eight
// spots. Each half is trained by a step of its own, in which the other half is frozen; the penalty
// differentiates the critic inside its loss. Samples are drawn from a running average of the maker.
#include <cleave/cleave.h>

#include <cmath>
#include <cstdio>

using namespace cleave;

constexpr int64_t batch = 128, noise = 4, width = 64;
constexpr double pi = 3.14159265358979;

nn::Sequential mlp(int64_t in, int64_t out, Generator& rng) {
  return nn::Sequential(nn::Linear(in, width, rng), nn::SiLU(), nn::Linear(width, width, rng),
                        nn::SiLU(), nn::Linear(width, out, rng));
}

// n points, each near one of eight spots at distance 1 from the middle.
HostTensor draw_points(Generator& rng, int64_t n) {
  HostTensor points = rng.normal({n, 2}, 0, 0.03);
  for (int64_t i = 0; i < n; ++i) {
    const double angle = 2 * pi * static_cast<double>(rng.integer(8)) / 8;
    points.at<float>({i, 0}) += static_cast<float>(std::cos(angle));
    points.at<float>({i, 1}) += static_cast<float>(std::sin(angle));
  }
  return points;
}

// The mean distance of points from the nearest spot, and how many spots have one in 32 of them.
std::pair<double, int> quality(const HostTensor& points) {
  const int64_t n = points.shape()[0];
  double sum = 0;
  int64_t near[8] = {};
  for (int64_t i = 0; i < n; ++i) {
    const double x = points.at<float>({i, 0}), y = points.at<float>({i, 1});
    const int64_t spot = (std::lround(std::atan2(y, x) / (2 * pi) * 8) + 8) % 8;
    const double angle = 2 * pi * static_cast<double>(spot) / 8;
    sum += std::hypot(x - std::cos(angle), y - std::sin(angle));
    ++near[spot];
  }
  int covered = 0;
  for (const int64_t count : near) covered += 32 * count >= n;
  return {sum / static_cast<double>(n), covered};
}

int main() {
  Generator rng(1);
  const nn::Sequential maker = mlp(noise, 2, rng), critic = mlp(2, 1, rng);
  nn::Sequential average = nn::clone(maker);

  const auto critic_loss = [&](const Tensor& real, const Tensor& z) {
    const Tensor made = maker(z);
    const Tensor between = made + (real - made) * rand_like(real.slice(1, 0, 1));
    const Tensor slope = grad(critic(between).sum(), {between})[0];
    const Tensor penalty = square(sqrt(square(slope).sum(1) + 1e-12) - 1).mean();
    return critic(made).mean() - critic(real).mean() + 0.5 * penalty;
  };
  TrainStep critic_step =
      train_step(critic, critic_loss, optim::Adam({.lr = 2e-3, .beta1 = 0, .beta2 = 0.9}),
                 {{"real", DType::f32, {batch, 2}}, {"z", DType::f32, {batch, noise}}},
                 {.frozen = {{"maker", maker}}});
  TrainStep maker_step =
      train_step(maker, [&](const Tensor& z) { return -critic(maker(z)).mean(); },
                 optim::Adam({.lr = 2e-3, .beta1 = 0, .beta2 = 0.9}),
                 {{"z", DType::f32, {batch, noise}}}, {.frozen = {{"critic", critic}}});

  const auto z = [&](int64_t n) { return rng.normal({n, noise}); };
  CompiledFunction sample = compile(average, [&](const Tensor& in) { return average(in); },
                                    {{"z", DType::f32, {1024, noise}}});
  const double before = quality(sample.run({z(1024)})[0]).first;
  for (int i = 0; i < 1500; ++i) {
    double distance = 0;
    for (int k = 0; k < 3; ++k)
      distance = -critic_step.run({draw_points(rng, batch), z(batch)}).loss;
    maker_step.run({z(batch)});
    average.copy_from(maker, 0.02);
    if (i % 300 == 0) std::printf("step %4d  distance %.4f\n", i, distance);
  }
  save_checkpoint("gan.safetensors",
                  {{"maker.", maker_step.store()}, {"critic.", critic_step.store()}});
  const auto [after, covered] = quality(sample.run({z(1024)})[0]);
  std::printf("distance from the nearest spot %.3f -> %.3f, %d of 8 spots\n", before, after,
              covered);
  return after < before / 3 && covered == 8 ? 0 : 1;
}
