// Trajectories that test/peer/optim.py wrote with PyTorch's optimizers: 50 steps agree.
// CLEAVE_PEERS names the folder (test/peer/write_cases.py); without it the test is skipped.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "test/train/recorded_run.h"

namespace cleave {
namespace {

constexpr double tolerance = 1e-6;

using test::row;
using test::tensor;

std::unique_ptr<optim::Optimizer> optimizer(const SafetensorsMetadata& about) {
  const auto number = [&](const char* key) { return std::stod(about.at(key)); };
  const std::string& name = about.at("optimizer");
  const double decay = number("weight_decay");
  if (name == "SGD")
    return std::make_unique<optim::SGD>(optim::SGD::Options{.momentum = number("momentum"),
                                                            .weight_decay = decay,
                                                            .nesterov = number("nesterov") != 0,
                                                            .dampening = number("dampening")});
  if (name == "RMSprop")
    return std::make_unique<optim::RMSprop>(
        optim::RMSprop::Options{.alpha = number("alpha"),
                                .eps = number("eps"),
                                .weight_decay = decay,
                                .momentum = number("momentum"),
                                .centered = number("centered") != 0});
  if (name == "Adagrad")
    return std::make_unique<optim::Adagrad>(
        optim::Adagrad::Options{.lr_decay = number("lr_decay"),
                                .weight_decay = decay,
                                .initial_accumulator_value = number("initial_accumulator_value"),
                                .eps = number("eps")});
  if (name == "Adam")
    return std::make_unique<optim::Adam>(optim::AdamOptions{.beta1 = number("beta1"),
                                                            .beta2 = number("beta2"),
                                                            .eps = number("eps"),
                                                            .weight_decay = decay,
                                                            .amsgrad = number("amsgrad") != 0});
  return std::make_unique<optim::AdamW>(optim::AdamW::Options{.beta1 = number("beta1"),
                                                              .beta2 = number("beta2"),
                                                              .eps = number("eps"),
                                                              .weight_decay = decay,
                                                              .amsgrad = number("amsgrad") != 0});
}

void expect_near(const HostTensor& got, const HostTensor& want) {
  for (int64_t k = 0; k < want.numel(); ++k)
    ASSERT_NEAR(got.number(k), want.number(k),
                tolerance * std::max(1.0, std::fabs(want.number(k))));
}

void expect_trajectory(const std::string& path) {
  const SafetensorsFile file = value_or_throw(SafetensorsFile::open(path));
  const DType type = file.find("w0")->dtype;
  Generator rng(1);
  nn::Linear layer(5, 3, rng, {.dtype = type});
  layer.parameter("weight").set(tensor(file, "w0"));
  layer.parameter("bias").set(tensor(file, "b0"));
  TrainStep step =
      train_step(layer, [&](const Tensor& x, const Tensor& y) { return mse_loss(layer(x), y); },
                 *optimizer(file.metadata()), {{"x", type, {8, 5}}, {"y", type, {8, 3}}},
                 {.clip_norm = std::stod(file.metadata().at("clip")), .ema_decay = 0.95});
  const HostTensor x = tensor(file, "x"), y = tensor(file, "y"), lr = tensor(file, "lr");
  const HostTensor loss = tensor(file, "loss"), w = tensor(file, "w"), b = tensor(file, "b");
  const HostTensor ema = tensor(file, "ema_w");
  ASSERT_EQ(lr.numel(), 50);
  for (int64_t i = 0; i < lr.numel(); ++i) {
    SCOPED_TRACE(fmt::format("{}, step {}", path, i));
    step.set_learning_rate(lr.number(i));
    ASSERT_NEAR(step.run({row(x, i), row(y, i)}).loss, loss.number(i),
                tolerance * std::max(1.0, loss.number(i)));
    expect_near(layer.parameter("weight").value(), row(w, i));
    expect_near(layer.parameter("bias").value(), row(b, i));
    expect_near(step.store().at("ema.weight").value(), row(ema, i));
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(PeerOptimizer, fifty_steps) {
  const char* folder = std::getenv("CLEAVE_PEERS");
  int files = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder ? folder : "", error))
    if (entry.path().filename().string().starts_with("optim_")) {
      ++files;
      expect_trajectory(entry.path().string());
    }
  if (files == 0) GTEST_SKIP() << "CLEAVE_PEERS holds no optim_*.safetensors (test/peer/optim.py)";
}

}  // namespace
}  // namespace cleave
