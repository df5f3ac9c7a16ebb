// Random tensors of a training step: the bits of (seed, step, call), no gradient, not in compile().
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <numbers>

#include "cleave/cleave.h"
#include "op/philox_reference.h"

namespace cleave {
namespace {

double uniform_at(int64_t step, int64_t stream, int64_t k) {
  return uniform_of(random_word(5, step, stream, k));
}

TEST(Random, bits_are_of_seed_step_and_call) {
  Generator rng(1);
  nn::Module model;
  const Variable w = model.add_parameter("w", rng.normal({3, 5}));
  TrainStep step = train_step(model,
                              [&](const Tensor& x) {
                                const Tensor u = rand_like(x),
                                             n = randn_like(x.select(0, 0) + w);  // x is 0
                                return Tensors{sum(square(w + n)) + sum(u), u, n};
                              },
                              optim::SGD({.lr = 0.25}), {{"x", DType::f32, {4}}}, {.seed = 5});
  for (int64_t i = 0; i < 3; ++i) {
    const HostTensor before = w.value();
    step.run({HostTensor(DType::f32, {4})});
    const HostTensor u = step.output(0), n = step.output(1);
    for (int64_t k = 0; k < 4; ++k) EXPECT_EQ(u.number(k), uniform_at(i, 0, k));
    for (int64_t k = 0; k < 15; ++k) {
      const double radius = std::sqrt(-2 * std::log(1 - uniform_at(i, 1, k - k % 2)));
      const double angle = 2 * std::numbers::pi * uniform_at(i, 1, k - k % 2 + 1);
      EXPECT_FLOAT_EQ(n.number(k), radius * (k % 2 ? std::sin(angle) : std::cos(angle)));
      // The gradient is 2 (w + n): none through n.
      EXPECT_NEAR(w.value().number(k), before.number(k) - 0.5 * (before.number(k) + n.number(k)),
                  1e-6);
    }
  }
}

std::string refusal(const std::function<Tensor(const Tensor&)>& f, DType dtype = DType::f32) {
  try {
    compile(f, {{"x", dtype, {2}}});
  } catch (const Error& e) {
    const std::string text = e.what();
    return text.substr(text.find(": ") + 2);
  }
  return "accepted";
}

TEST(Random, is_of_training_steps_alone) {
  EXPECT_EQ(refusal([](const Tensor& x) { return randn_like(x); }),
            "randn_like: compile draws no random numbers; give them as an input");
  EXPECT_EQ(refusal([](const Tensor& x) { return x + rand_like(zeros({2})); }),
            "rand_like: self belongs to no program yet, so it has no random numbers");
  EXPECT_EQ(refusal([](const Tensor& x) { return rand_like(x); }, DType::i64),
            "rand_like: self is i64[2], expected a floating dtype");
}

// Neither the program's numbers nor the host program's.
TEST(Random, compiling_draws_none) {
  Generator rng(1);
  const nn::Sequential model(nn::Linear(4, 8, rng), nn::Dropout(0.5), nn::Linear(8, 1, rng));
  const TracedFunction loss([&](const Tensor& x) { return mean(model(x)); });
  const std::vector<InputSpec> specs = {{"x", DType::f32, {dyn("B", 1, 6), 4}}};
  const auto made = [&](const Store& store, MemoryBudget budget = {}) {
    return train_step(model, loss, optim::SGD({}), specs,
                      {.compile = {.memory_budget = budget, .autocast = DType::bf16}, .seed = 5},
                      store);
  };
  const auto state = [](const Store& store) {
    const HostTensor v = store.find("rng").value();
    return std::pair(v.at<int64_t>({0}), v.at<int64_t>({1}));
  };
  const Store store;
  std::srand(7);
  const int first = std::rand(), second = std::rand();
  std::srand(7);
  TrainStep step = made(store);
  EXPECT_EQ(std::rand(), first);
  EXPECT_EQ(state(store), std::pair(int64_t{5}, int64_t{0}));
  step.run({HostTensor(DType::f32, {2, 4})});  // compiles another program
  EXPECT_EQ(state(store), std::pair(int64_t{5}, int64_t{1}));
  made(store, MemoryBudget::percent(100));
  memory_trades(model, loss, optim::SGD({}), specs);
  EXPECT_EQ(state(store), std::pair(int64_t{5}, int64_t{1}));
  EXPECT_EQ(std::rand(), second);
}

}  // namespace
}  // namespace cleave
