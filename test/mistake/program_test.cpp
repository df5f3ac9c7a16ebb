// Mistakes with programs and their inputs.
#include "test/mistake/mistake.h"

namespace cleave::mistake {
namespace {

MISTAKE(missing_input, "A missing input",
        R"(@)") {
  Generator rng(1);
  Mlp model(rng);
  TrainStep step = mlp_step(model);
  step.run({HostTensor(f32, {4, 2})});
}

MISTAKE(wrong_order, "Inputs in the wrong order",
        R"(@)") {
  Generator rng(1);
  Mlp model(rng);
  TrainStep step = mlp_step(model);  // x: f32[4,2], y: f32[4,1]
  step.run({HostTensor(f32, {4, 1}), HostTensor(f32, {4, 2})});
}

MISTAKE(batch_of_another_size, "The last, smaller batch",
        R"(@)") {
  Generator rng(1);
  Mlp model(rng);
  TrainStep step = mlp_step(model);
  step.run({{"x", HostTensor(f32, {3, 2})}, {"y", HostTensor(f32, {3, 1})}});
}

MISTAKE(input_of_another_dtype, "An input of another dtype",
        R"(@)") {
  Generator rng(1);
  Mlp model(rng);
  TrainStep step = mlp_step(model);
  step.run({HostTensor::from<double>({1, 2, 3, 4, 5, 6, 7, 8}, {4, 2}), HostTensor(f32, {4, 1})});
}

MISTAKE(unknown_input, "A name that no input has",
        R"(@)") {
  Generator rng(1);
  Mlp model(rng);
  TrainStep step = mlp_step(model);
  step.run({{"x", HostTensor(f32, {4, 2})}, {"target", HostTensor(f32, {4, 1})}});
}

MISTAKE(input_by_name_is_missing, "A name that is left out",
        R"(@)") {
  Generator rng(1);
  Mlp model(rng);
  TrainStep step = mlp_step(model);
  step.run({{"y", HostTensor(f32, {4, 1})}});
}

MISTAKE(inputs_of_one_name, "Two inputs of one name",
        R"(@)") {
  compile([](const Tensor& a, const Tensor& b) { return a + b; },
          {{"x", f32, {4}}, {"x", f32, {4}}});
}

MISTAKE(input_named_as_a_parameter, "An input that is named as a parameter",
        R"(@)") {
  Generator rng(1);
  nn::Linear model(2, 1, rng);
  compile(model, [&](const Tensor& x) { return model(x); }, {{"weight", f32, {4, 2}}});
}

MISTAKE(inputs_and_arguments, "Fewer inputs than the function takes",
        R"(@)") {
  compile([](const Tensor& x, const Tensor& y) { return x + y; }, {{"x", f32, {4}}});
}

MISTAKE(program_that_is_empty, "A step that was never made",
        R"(@)") {
  TrainStep step;
  step.run({HostTensor(f32, {4, 2})});
}

MISTAKE(output_that_is_not_there, "An output that there isn't",
        R"(@)") {
  Generator rng(1);
  Mlp model(rng);
  TrainStep step = mlp_step(model);  // its function returns the loss alone
  step.run({HostTensor(f32, {4, 2}), HostTensor(f32, {4, 1})});
  step.output(0);
}

MISTAKE(program_that_is_running, "A program that runs already",
        R"(@)") {
  CompiledFunction f;
  Operators ops;
  ops.add({.name = "again",
           .signature = "(Tensor x) -> Tensor",
           .infer = [](const OpCall& op) { return std::vector{op.operand(0)}; },
           .reference = [](const OpCall&, const HostTensors&, HostTensors&) {},
           .callback = [&](const OpCall&) {
             return [&](const OpMemory&) { f.run({HostTensor(f32, {4})}); };
           }});
  f = compile([](const Tensor& x) { return call("again", {x})[0]; }, {{"x", f32, {4}}}, {.ops = ops});
  f.run({HostTensor(f32, {4})});
}

MISTAKE(nothing_to_train, "A loss that depends on no parameter",
        R"(@)") {
  Generator rng(1);
  Mlp model(rng);
  train_step(model, [&](const Tensor& x) { return mean(x); }, optim::SGD({}), {{"x", f32, {4, 2}}});
}

MISTAKE(frozen_too_late, "A parameter that is frozen after compiling",
        R"(@)") {
  Generator rng(1);
  Mlp model(rng);
  TrainStep step = mlp_step(model);
  model.fc1.set_requires_grad(false);
  step.run({HostTensor(f32, {4, 2}), HostTensor(f32, {4, 1})});
}

MISTAKE(eval_in_training, "eval() between training steps",
        R"(@)") {
  Generator rng(1);
  Mlp model(rng);
  TrainStep step = mlp_step(model);
  model.eval();
  step.run({HostTensor(f32, {4, 2}), HostTensor(f32, {4, 1})});
}

MISTAKE(step_of_averages, "Training while the averages are in use",
        R"(@)") {
  Generator rng(1);
  Mlp model(rng);
  TrainStep step = mlp_step(model, {.ema_decay = 0.99});
  step.run({HostTensor(f32, {4, 2}), HostTensor(f32, {4, 1})});
  step.use_ema(true);
  step.run({HostTensor(f32, {4, 2}), HostTensor(f32, {4, 1})});
}

MISTAKE(averages_that_are_not_kept, "Averages that aren't kept",
        R"(@)") {
  Generator rng(1);
  Mlp model(rng);
  mlp_step(model).use_ema(true);
}

}  // namespace
}  // namespace cleave::mistake
