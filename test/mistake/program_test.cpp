// Mistakes with programs and their inputs.
#include "test/mistake/mistake.h"

namespace cleave::mistake {
namespace {

MISTAKE(empty_function, "A function that was never set",
        "program.cpp:2: compile: there is no function") {
  std::function<Tensor(const Tensor&)> policy;
  compile(policy, {{"x", f32, {4}}});
}

MISTAKE(missing_input, "A missing input",
        "train_step: 1 inputs were given, expected 2: x: f32[4,2], y: f32[4,1]") {
  Generator rng(1);
  Mlp model(rng);
  TrainStep step = mlp_step(model);
  step.run({HostTensor(f32, {4, 2})});
}

MISTAKE(wrong_order, "Inputs in the wrong order",
        "train_step: input 0 `x`: got f32[4,1] on cpu, expected f32[4,2] on cpu") {
  Generator rng(1);
  Mlp model(rng);
  TrainStep step = mlp_step(model);  // x: f32[4,2], y: f32[4,1]
  step.run({HostTensor(f32, {4, 1}), HostTensor(f32, {4, 2})});
}

MISTAKE(batch_of_another_size, "The last, smaller batch",
        "train_step: input 0 `x`: got f32[3,2] on cpu, expected f32[4,2] on cpu") {
  Generator rng(1);
  Mlp model(rng);
  TrainStep step = mlp_step(model);
  step.run({{"x", HostTensor(f32, {3, 2})}, {"y", HostTensor(f32, {3, 1})}});
}

MISTAKE(input_of_another_dtype, "An input of another dtype",
        "train_step: input 0 `x`: got f64[4,2] on cpu, expected f32[4,2] on cpu") {
  Generator rng(1);
  Mlp model(rng);
  TrainStep step = mlp_step(model);
  step.run({HostTensor::from<double>({1, 2, 3, 4, 5, 6, 7, 8}, {4, 2}), HostTensor(f32, {4, 1})});
}

MISTAKE(input_of_other_strides, "A column-major input",
        "compile: input 0 `x`: got f32[4,2]{1,4} on cpu, expected f32[4,2]{2,1} on cpu") {
  CompiledFunction f = compile([](const Tensor& x) { return exp(x); }, {{"x", f32, {4, 2}}});
  std::vector<float> columns(8);
  f.run({HostTensor::borrow(f32, {4, 2}, {1, 4}, columns.data())});  // or {.copy_strides = true}
}

MISTAKE(input_at_an_odd_address, "An input that begins inside of an element",
        "compile: input 0 `x`: its address is no multiple of the 4 bytes of f32") {
  CompiledFunction f = compile([](const Tensor& x) { return exp(x); }, {{"x", f32, {4}}});
  std::vector<float> message(8);
  f.run({HostTensor::borrow(f32, {4}, reinterpret_cast<char*>(message.data()) + 2)});
}

MISTAKE(const_tensor_to_update, "A const tensor for an input that is updated",
        "compile: input 0 `x`: it is updated, and the tensor given for it is const") {
  CompiledFunction f = compile(
      [](const Tensor& x) {
        assign(x, x + 1);
        return x;
      },
      {{.name = "x", .shape = {4}, .is_updated = true}});
  const HostTensor x(f32, {4});
  f.run({x});
}

MISTAKE(update_that_shares_memory, "An update of memory that another input reads",
        "compile: input 0 `x` is updated, and its memory is also that of input 1 `y`") {
  CompiledFunction f = compile(
      [](const Tensor& x, const Tensor& y) {
        assign(x, x + y);
        return sum(y);
      },
      {{.name = "x", .shape = {4}, .is_updated = true}, {"y", f32, {4}}});
  HostTensor both(f32, {8});
  f.run({HostTensor::borrow(f32, {4}, both.data()),
         HostTensor::borrow(f32, {4}, both.data<float>() + 2)});
}

MISTAKE(update_of_repeated_rows, "An update of one row in the place of many",
        "program.cpp:1: %x is written, and elements of f32[3,4]{0,1} lie in one place, expected "
        "strides that keep them apart; what is only read may overlap") {
  compile([](const Tensor& x) { return exp(x); },
          {{.name = "x", .shape = {3, 4}, .strides = {0, 1}, .is_updated = true}});
}

MISTAKE(assigned_input, "An input that is assigned and not declared so",
        "program.cpp:3: assign: %x is an input that is only read; set InputSpec::is_updated") {
  compile(
      [](const Tensor& x) {
        assign(x, x + 1);
        return x;
      },
      {{"x", f32, {4}}});
}

MISTAKE(tree_of_another_shape, "Nested inputs of another shape",
        "compile: inputs are {x: *, state: [*]}, expected {x: *, state: [*, *]}") {
  const InputSpec row{.dtype = f32, .shape = {4}};
  CompiledTree f = compile_tree(
      [](const Tree<Tensor>& in) { return add(in["x"].leaf(), in["state"][1].leaf()); },
      Tree<InputSpec>::map({{"x", row}, {"state", Tree<InputSpec>::list({row, row})}}));
  HostTensor x(f32, {4}), h(f32, {4});
  f.run(Tree<InputRef>::map({{"x", x}, {"state", Tree<InputRef>::list({h})}}));
}

MISTAKE(unknown_input, "A name that no input has",
        "train_step: there is no input `target`; inputs are x, y") {
  Generator rng(1);
  Mlp model(rng);
  TrainStep step = mlp_step(model);
  step.run({{"x", HostTensor(f32, {4, 2})}, {"target", HostTensor(f32, {4, 1})}});
}

MISTAKE(input_by_name_is_missing, "A name that is left out", "train_step: input `x` is missing") {
  Generator rng(1);
  Mlp model(rng);
  TrainStep step = mlp_step(model);
  step.run({{"y", HostTensor(f32, {4, 1})}});
}

MISTAKE(inputs_of_one_name, "Two inputs of one name",
        "program.cpp:1: compile: two inputs have the name `x`") {
  compile([](const Tensor& a, const Tensor& b) { return a + b; },
          {{"x", f32, {4}}, {"x", f32, {4}}});
}

MISTAKE(input_named_as_a_parameter, "An input that is named as a parameter",
        "program.cpp:3: compile: input `weight`: the model has a parameter of this name") {
  Generator rng(1);
  nn::Linear model(2, 1, rng);
  compile(model, [&](const Tensor& x) { return model(x); }, {{"weight", f32, {4, 2}}});
}

MISTAKE(inputs_and_arguments, "Fewer inputs than the function takes",
        "program.cpp:1: compile: the function takes 2 Tensors, the specs name 1 inputs") {
  compile([](const Tensor& x, const Tensor& y) { return x + y; }, {{"x", f32, {4}}});
}

MISTAKE(program_that_is_empty, "A step that was never made",
        "TrainStep: it is empty; train_step() makes one") {
  TrainStep step;
  step.run({HostTensor(f32, {4, 2})});
}

MISTAKE(output_that_is_not_there, "An output that there isn't",
        "train_step: output 0 is outside [0, 0): outputs are what the function returns "
        "after the loss") {
  Generator rng(1);
  Mlp model(rng);
  TrainStep step = mlp_step(model);  // its function returns the loss alone
  step.run({HostTensor(f32, {4, 2}), HostTensor(f32, {4, 1})});
  step.output(0);
}

MISTAKE(program_that_is_running, "A program that runs already",
        "compile: it is running on another thread; one program runs once at a time") {
  CompiledFunction f;
  Operators ops;
  ops.add(
      {.name = "again",
       .signature = "(Tensor x) -> Tensor",
       .infer = [](const OpCall& op) { return std::vector{op.operand(0)}; },
       .reference = [](const OpCall&, const HostTensors&, HostTensors&) {},
       .callback =
           [&](const OpCall&) { return [&](const OpMemory&) { f.run({HostTensor(f32, {4})}); }; }});
  f = compile([](const Tensor& x) { return call("again", {x})[0]; }, {{"x", f32, {4}}},
              {.ops = ops});
  f.run({HostTensor(f32, {4})});
}

MISTAKE(nothing_to_train, "A loss that depends on no parameter",
        "program.cpp:3: train_step: the loss depends on no parameter that is trained") {
  Generator rng(1);
  Mlp model(rng);
  train_step(model, [&](const Tensor& x) { return mean(x); }, optim::SGD({}), {{"x", f32, {4, 2}}});
}

MISTAKE(frozen_too_late, "A parameter that is frozen after compiling",
        "train_step: %fc1.weight was frozen after the step was compiled, which has no "
        "effect on it; compile another step, with this one's store()") {
  Generator rng(1);
  Mlp model(rng);
  TrainStep step = mlp_step(model);
  model.fc1.set_requires_grad(false);
  step.run({HostTensor(f32, {4, 2}), HostTensor(f32, {4, 1})});
}

MISTAKE(eval_in_training, "eval() between training steps",
        "train_step: the model was switched to eval() after the step was compiled, "
        "which has no effect on it; switch it back (compile() needs no eval())") {
  Generator rng(1);
  Mlp model(rng);
  TrainStep step = mlp_step(model);
  model.eval();
  step.run({HostTensor(f32, {4, 2}), HostTensor(f32, {4, 1})});
}

MISTAKE(step_of_averages, "Training while the averages are in use",
        "train_step: an average stands in the place of %fc1.weight; use_ema(false) "
        "first") {
  Generator rng(1);
  Mlp model(rng);
  TrainStep step = mlp_step(model, {.ema_decay = 0.99});
  step.run({HostTensor(f32, {4, 2}), HostTensor(f32, {4, 1})});
  step.use_ema(true);
  step.run({HostTensor(f32, {4, 2}), HostTensor(f32, {4, 1})});
}

MISTAKE(averages_that_are_not_kept, "Averages that aren't kept",
        "train_step: use_ema: no averages are kept (TrainOptions::ema_decay)") {
  Generator rng(1);
  Mlp model(rng);
  mlp_step(model).use_ema(true);
}

}  // namespace
}  // namespace cleave::mistake
