// Mistakes with options.
#include <cmath>

#include "test/mistake/mistake.h"

namespace cleave::mistake {
namespace {

MISTAKE(budget_that_nothing_meets, "A budget that no program meets",
        "program.cpp:3: a memory budget of 1000 B is below the least peak found, 1216 "
        "B; no program takes less than 960 B, where 512 are placeholders and the rest "
        "is alive at addmm %addmm. Give at least 1216 B.") {
  Generator rng(1);
  Mlp model(rng);
  mlp_step(model, {.compile = {.target = Target::named("x86-64-v2"), .memory_budget = 1000}});
}

MISTAKE(percentage_above_100, "A budget above 100%",
        "program.cpp:1: a memory budget of 120.0%: expected more than 0 bytes, or more "
        "than 0% and at most 100% of the peak without a budget") {
  compile([](const Tensor& x) { return exp(x); }, {{"x", f32, {4}}},
          {.memory_budget = MemoryBudget::percent(120)});
}

MISTAKE(threads, "Threads below 0", "program.cpp:1: compile: threads is -1, expected 0 or more") {
  compile([](const Tensor& x) { return exp(x); }, {{"x", f32, {4}}}, {.threads = -1});
}

MISTAKE(pass_that_is_not_there, "A pass that there isn't",
        "program.cpp:1: compile: there is no pass 'fold_permut', did you mean "
        "'fold_permute'?; `cleave opt --list` names all") {
  compile([](const Tensor& x) { return exp(x); }, {{"x", f32, {4}}},
          {.passes_off = {"fold_permut"}});
}

MISTAKE(option_that_is_not_there, "An option that there isn't",
        "CompileOptions: there is no option 'memory_buget', did you mean 'memory_budget'?; "
        "doc/options.md lists all") {
  compile([](const Tensor& x) { return exp(x); }, {{"x", f32, {4}}},
          CompileOptions::parse("strict=true memory_buget=60%"));
}

MISTAKE(option_of_another_kind, "An option of another kind",
        "TrainOptions: autocast=true: expected a dtype, or none, such as autocast=bf16") {
  Generator rng(1);
  Mlp model(rng);
  mlp_step(model, TrainOptions().with({{"autocast", "true"}}));
}

MISTAKE(target_that_is_not_there, "A target that there isn't",
        "target x86-64-v9: expected native, x86-64-v2, x86-64-v3, x86-64-v4, "
        "x86-64-v4-bf16, x86-64-v4-amx, aarch64, cuda, or a GPU's architecture such as sm_90") {
  compile([](const Tensor& x) { return exp(x); }, {{"x", f32, {4}}},
          {.target = Target::named("x86-64-v9")});
}

MISTAKE(rate_that_is_no_number, "A learning rate that is no number",
        "train_step: the learning rate is nan, expected a number of at least 0") {
  Generator rng(1);
  Mlp model(rng);
  TrainStep step = mlp_step(model);
  step.set_learning_rate(std::nan(""));
}

MISTAKE(rate_of_a_group, "The rate of a group that there isn't",
        "train_step: group 1 is outside [0, 1)") {
  Generator rng(1);
  Mlp model(rng);
  TrainStep step = mlp_step(model);
  step.set_learning_rate(1, 0.1);
}

MISTAKE(group_that_selects_nothing, "A group that selects nothing",
        "program.cpp:5: optim::Groups: group 0, named(\"head.\"), selects no parameter "
        "that is left; trained are fc1.weight, fc1.bias, fc2.weight, fc2.bias") {
  Generator rng(1);
  Mlp model(rng);
  const optim::Group head(optim::named("head."), optim::SGD({.lr = 1e-3}));
  const optim::Group rest(optim::others(), optim::SGD({.lr = 1e-2}));
  const optim::Groups groups({head, rest});
  train_step(model, [&](const Tensor& x) { return mean(model(x)); }, groups, {{"x", f32, {4, 2}}});
}

MISTAKE(beta_of_adam, "A beta of Adam beyond 1",
        "program.cpp:1: optim::AdamW: beta2 is 99.9, expected a number in [0, 1)") {
  optim::AdamW({.lr = 1e-3, .beta2 = 99.9});
}

MISTAKE(clip_below_zero, "A norm below 0",
        "program.cpp:3: train_step: clip_norm is -1, expected 0 or more") {
  Generator rng(1);
  Mlp model(rng);
  mlp_step(model, {.clip_norm = -1});
}

MISTAKE(accumulating_nothing, "Gradients of 0 runs",
        "program.cpp:3: train_step: accumulate is 0, expected 1 or more") {
  Generator rng(1);
  Mlp model(rng);
  mlp_step(model, {.accumulate = 0});
}

MISTAKE(null_optimizer, "An optimizer that isn't there",
        "program.cpp:4: train_step: the optimizer is null") {
  Generator rng(1);
  Mlp model(rng);
  std::shared_ptr<optim::Adam> optimizer;
  train_step(model, [&](const Tensor& x) { return sum(model(x)); }, optimizer,
             {{"x", f32, {4, 2}}});
}

MISTAKE(pass_without_an_input, "A pass of the program that forgets the input",
        "program.cpp:6: compile: pass to_zero: its graph has 0 placeholders, expected 1") {
  CompileOptions options;
  options.functions.push_back({.name = "to_zero", .function = [](const std::string&) {
                                 return "graph @main() {\n  %y = full(size=[4], fill_value=0.0)\n"
                                        "  return %y\n}\n";
                               }});
  compile([](const Tensor& x) { return exp(x); }, {{"x", f32, {4}}}, options);
}

MISTAKE(smoothing, "Label smoothing of 10 instead of 0.1",
        "program.cpp:2: cross_entropy: label_smoothing is 10, expected 0 <= "
        "label_smoothing <= 1") {
  compile(
      [](const Tensor& x, const Tensor& y) { return cross_entropy(x, y, {.label_smoothing = 10}); },
      {{"logits", f32, {4, 5}}, {"y", i64, {4}}});
}

}  // namespace
}  // namespace cleave::mistake
