// Mistakes with Tensors and Variables.
#include "test/mistake/mistake.h"

namespace cleave::mistake {
namespace {

MISTAKE(operand_that_is_not_set, "An operand that isn't set",
        "program.cpp:1: mul: an operand is an empty Tensor, expected a value") {
  compile([](const Tensor& x) { return x * Tensor(); }, {{"x", f32, {4}}});
}

MISTAKE(typo_in_a_store, "A typo in the name of a tensor",
        "store: there is no fc1.wieght; the nearest name is fc1.weight") {
  Generator rng(1);
  Mlp model(rng);
  model.store().at("fc1.wieght").set(HostTensor(f32, {8, 2}));
}

MISTAKE(found_nothing, "What Store::find didn't find",
        "Variable: it is undefined; Store::find gives such a one for a name that isn't "
        "there, Store::at an error") {
  Generator rng(1);
  Mlp model(rng);
  model.store().find("fc1.wieght").set(HostTensor(f32, {8, 2}));
}

MISTAKE(pointer_to_a_strided_tensor, "A pointer to elements that aren't row-major",
        "HostTensor: strides: data<T>() and span<T>() are row-major, and f32[2,3]{1,2} isn't; at() "
        "and number() go by index, contiguous() makes a row-major copy, data() is its first "
        "element") {
  HostTensor columns(f32, {2, 3}, {1, 2});
  columns.data<float>()[1] = 7;
}

MISTAKE(class_out_of_range, "A class that there isn't",
        "program.cpp:2: cross_entropy: class 7 is out of range [0, 5), %target[3]") {
  CompiledFunction loss =
      compile([](const Tensor& x, const Tensor& y) { return cross_entropy(x, y); },
              {{"logits", f32, {4, 5}}, {"target", i64, {4}}});
  loss.run({HostTensor(f32, {4, 5}), HostTensor::from<int64_t>({0, 4, 1, 7})});
}

MISTAKE(token_out_of_range, "A token beyond the vocabulary",
        "program.cpp:4: embedding: indices: index 12 is out of range [0, 10), "
        "%tokens[1,1]") {
  Generator rng(1);
  nn::Embedding table(10, 4, rng);
  CompiledFunction rows =
      compile(table, [&](const Tensor& t) { return tanh(table(t)); }, {{"tokens", i64, {2, 3}}});
  rows.run({HostTensor::from<int64_t>({1, 2, 3, 4, 12, 6}, {2, 3})});
}

MISTAKE(value_that_is_baked_in, "A Variable that is read in a trace (a warning)",
        "cleave: warning: program.cpp:4: the value of `scale` is read while compile "
        "traces the function: it becomes a constant of the program; use the Variable as "
        "an operand, which each run reads, or read it before") {
  Generator rng(1);
  Mlp model(rng);
  Variable scale = model.add_buffer("scale", HostTensor::scalar(0.5));
  compile(model, [&](const Tensor& x) { return model(x) * scale.value().item(); },
          {{"x", f32, {4, 2}}});
}

MISTAKE(tensor_after_its_trace, "A Tensor that is kept after its trace",
        "program.cpp:3: add: a tensor of compile is used after its trace is over; only "
        "what it returns is kept") {
  Tensor kept;
  compile([&](const Tensor& x) { return kept = exp(x); }, {{"x", f32, {4}}});
  kept + 1;
}

MISTAKE(tensor_of_another_program, "A Tensor of another program",
        "program.cpp:3: mul: operands of two programs, compile and compile; give one as "
        "an input of the other") {
  compile(
      [](const Tensor& x) {
        compile([&](const Tensor& y) { return x * y; }, {{"y", f32, {4}}});
        return x;
      },
      {{"x", f32, {4}}});
}

MISTAKE(layer_that_is_not_registered, "A layer that its module doesn't hold",
        "program.cpp:4: train_step: parameter `bias`, f32[1], is used, but the model "
        "given to train_step doesn't hold it; register it in its module "
        "(Module::add_module, add_parameter, add_buffer), or give the module that holds it in "
        "TrainOptions::frozen") {
  Generator rng(1);
  nn::Linear head(2, 1, rng);
  nn::Module model;  // model.add_module("head", head) is missing
  train_step(model, [&](const Tensor& x) { return mean(head(x)); }, optim::SGD({}),
             {{"x", f32, {4, 2}}});
}

MISTAKE(branches_of_two_types, "Branches that return two types",
        "program.cpp:3: cond: C4: result 0 of then is f32[4], that of otherwise f32[]\n"
        "  in cond(%gt: bool[], [%x: f32[4]])") {
  compile(
      [](const Tensor& x) {
        return cond(sum(x) > 0, [&] { return x; }, [&] { return sum(x); })[0];
      },
      {{"x", f32, {4}}});
}

}  // namespace
}  // namespace cleave::mistake
