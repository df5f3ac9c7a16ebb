// Trajectories that test/peer/loss_scale.py wrote with PyTorch's GradScaler: the scales and skipped
// steps of 60 runs are equal, weights near.
// CLEAVE_PEERS names the folder (test/peer/write_cases.py); without it the test is skipped.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "test/train/recorded_run.h"

namespace cleave {
namespace {

using test::row;
using test::tensor;

// By the largest of them: elements of a gradient that are near 0 in f16 have other signs.
void expect_near(const HostTensor& got, const HostTensor& want, double tolerance) {
  for (int64_t k = 0; k < want.numel(); ++k) ASSERT_NEAR(got.number(k), want.number(k), tolerance);
}

void expect_trajectory(const std::string& path) {
  const SafetensorsFile file = value_or_throw(SafetensorsFile::open(path));
  const auto number = [&](const char* key) { return std::stod(file.metadata().at(key)); };
  Generator rng(1);
  const nn::Sequential net{nn::Linear(5, 6, rng), nn::Tanh(), nn::Linear(6, 3, rng)};
  constexpr const char* names[] = {"0.weight", "0.bias", "2.weight", "2.bias"};
  constexpr const char* starts[] = {"w0", "b0", "w1", "b1"};
  for (size_t k = 0; k < 4; ++k) net.parameter(names[k]).set(tensor(file, starts[k]));
  TrainStep step =
      train_step(net, [&](const Tensor& x, const Tensor& y) { return mse_loss(net(x), y); },
                 optim::AdamW({.lr = 1e-2}), {{"x", DType::f32, {8, 5}}, {"y", DType::f32, {8, 3}}},
                 {.compile = {.autocast = DType::f16},
                  .clip_norm = number("clip"),
                  .accumulate = static_cast<int64_t>(number("accumulate")),
                  .init_scale = number("init_scale"),
                  .growth_factor = number("growth_factor"),
                  .backoff_factor = number("backoff_factor"),
                  .growth_interval = static_cast<int64_t>(number("growth_interval"))});
  const HostTensor x = tensor(file, "x"), y = tensor(file, "y"), w = tensor(file, "w");
  const HostTensor loss = tensor(file, "loss"), scale = tensor(file, "scale");
  const HostTensor skipped = tensor(file, "skipped");
  ASSERT_EQ(scale.numel(), 60);
  EXPECT_GT(skipped.number(59), 0);
  for (int64_t i = 0; i < scale.numel(); ++i) {
    SCOPED_TRACE(fmt::format("{}, step {}", path, i));
    const StepResult r = step.run({row(x, i), row(y, i)});
    ASSERT_EQ(r.loss_scale, scale.number(i));
    ASSERT_EQ(r.skipped_steps, skipped.number(i));
    if (std::isfinite(loss.number(i))) {
      ASSERT_NEAR(r.loss, loss.number(i), 5e-3 * std::max(1.0, loss.number(i)));
    } else {
      ASSERT_EQ(r.loss, loss.number(i));
    }
    expect_near(net.parameter("0.weight").value(), row(w, i), 1e-2);
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(PeerLossScale, sixty_steps) {
  const char* folder = std::getenv("CLEAVE_PEERS");
  int files = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder ? folder : "", error))
    if (entry.path().filename().string().starts_with("scale_")) {
      ++files;
      expect_trajectory(entry.path().string());
    }
  if (files == 0)
    GTEST_SKIP() << "CLEAVE_PEERS holds no scale_*.safetensors (test/peer/loss_scale.py)";
}

}  // namespace
}  // namespace cleave
