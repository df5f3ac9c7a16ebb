// Mistakes with options.
#include "test/mistake/mistake.h"

namespace cleave::mistake {
namespace {

MISTAKE(budget_that_nothing_meets, "A budget that no program meets",
        R"(@)") {
  Generator rng(1);
  Mlp model(rng);
  mlp_step(model, {.compile = {.memory_budget = 1000}});
}

MISTAKE(percentage_above_100, "A budget above 100%",
        R"(@)") {
  compile([](const Tensor& x) { return exp(x); }, {{"x", f32, {4}}},
          {.memory_budget = MemoryBudget::percent(120)});
}

MISTAKE(threads, "Threads below 0",
        R"(@)") {
  compile([](const Tensor& x) { return exp(x); }, {{"x", f32, {4}}}, {.threads = -1});
}

MISTAKE(pass_that_is_not_there, "A pass that there isn't",
        R"(@)") {
  compile([](const Tensor& x) { return exp(x); }, {{"x", f32, {4}}}, {.passes_off = {"fold_permut"}});
}

MISTAKE(target_that_is_not_there, "A target that there isn't",
        R"(@)") {
  compile([](const Tensor& x) { return exp(x); }, {{"x", f32, {4}}},
          {.target = Target::named("x86-64-v9")});
}

MISTAKE(rate_that_is_no_number, "A learning rate that is no number",
        R"(@)") {
  Generator rng(1);
  Mlp model(rng);
  TrainStep step = mlp_step(model);
  step.set_learning_rate(std::nan(""));
}

MISTAKE(rate_of_a_group, "The rate of a group that there isn't",
        R"(@)") {
  Generator rng(1);
  Mlp model(rng);
  TrainStep step = mlp_step(model);
  step.set_learning_rate(1, 0.1);
}

MISTAKE(group_that_selects_nothing, "A group that selects nothing",
        R"(@)") {
  Generator rng(1);
  Mlp model(rng);
  optim::Groups groups({{optim::named("head."), optim::SGD({.lr = 1e-3})},
                        {optim::others(), optim::SGD({.lr = 1e-2})}});
  train_step(model, [&](const Tensor& x) { return mean(model(x)); }, groups, {{"x", f32, {4, 2}}});
}

MISTAKE(beta_of_adam, "A beta of Adam beyond 1",
        R"(@)") {
  optim::AdamW({.lr = 1e-3, .beta2 = 99.9});
}

MISTAKE(clip_below_zero, "A norm below 0",
        R"(@)") {
  Generator rng(1);
  Mlp model(rng);
  mlp_step(model, {.clip_norm = -1});
}

MISTAKE(accumulating_nothing, "Gradients of 0 runs",
        R"(@)") {
  Generator rng(1);
  Mlp model(rng);
  mlp_step(model, {.accumulate = 0});
}

MISTAKE(smoothing, "Label smoothing of 10 instead of 0.1",
        R"(@)") {
  compile(
      [](const Tensor& x, const Tensor& y) { return cross_entropy(x, y, {.label_smoothing = 10}); },
      {{"logits", f32, {4, 5}}, {"y", i64, {4}}});
}

}  // namespace
}  // namespace cleave::mistake
