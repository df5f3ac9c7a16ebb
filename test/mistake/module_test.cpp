// Mistakes with modules.
#include "test/mistake/mistake.h"

namespace cleave::mistake {
namespace {

MISTAKE(name_that_is_taken, "A name that is taken", "Module: name: `fc` is taken already") {
  Generator rng(1);
  nn::Module model;
  model.add_module("fc", nn::Linear(2, 2, rng));
  model.add_module("fc", nn::Linear(2, 2, rng));
}

MISTAKE(name_with_a_dot, "A name with a dot",
        "Module: name: `encoder.fc`: expected letters, digits, _ and -") {
  Generator rng(1);
  nn::Module model;
  model.add_module("encoder.fc", nn::Linear(2, 2, rng));
}

MISTAKE(weights_that_are_not_tied, "Tied weights of two types",
        "Module: share: `weight` is f32[16,100], got f32[100,16]") {
  Generator rng(1);
  nn::Embedding tokens(100, 16, rng);
  nn::Linear head(100, 16, rng);  // expected (16, 100)
  head.share("weight", tokens.parameter("weight"));
}

MISTAKE(typo_in_a_parameter, "A typo in the name of a parameter",
        "Module: there is no parameter fc1.wieght; the nearest name is fc1.weight") {
  Generator rng(1);
  Mlp(rng).parameter("fc1.wieght");
}

MISTAKE(layer_beyond_the_last, "A layer beyond the last",
        "nn::ModuleList: module 1 is outside [0, 1)") {
  Generator rng(1);
  nn::ModuleList<nn::Linear> layers;
  layers.push_back(nn::Linear(2, 2, rng));
  layers[1].parameter("weight");
}

MISTAKE(layer_of_no_outputs, "A layer of no outputs", "nn::Linear: size 0 is less than 1") {
  Generator rng(1);
  nn::Linear head(8, 0, rng);
}

MISTAKE(module_in_itself, "A module in itself",
        "Module: add_module: `model` holds this module itself") {
  nn::Module model, part;
  model.add_module("part", part);
  part.add_module("model", model);
}

MISTAKE(assigned_and_trained, "A parameter that is assigned and trained",
        "program.cpp:3: train_step: %fc2.bias is assigned by the model and trained; "
        "freeze it (set_requires_grad(false)) or make it a buffer") {
  Generator rng(1);
  Mlp model(rng);
  train_step(model,
             [&](const Tensor& x) {
               assign(model.parameter("fc2.bias"), zeros({1}));
               return mean(model(x));
             },
             optim::SGD({}), {{"x", f32, {4, 2}}});
}

}  // namespace
}  // namespace cleave::mistake
