// Mistakes with Tensors and Variables.
#include "test/mistake/mistake.h"

namespace cleave::mistake {
namespace {

MISTAKE(operand_that_is_not_set, "An operand that isn't set",
        R"(@)") {
  compile([](const Tensor& x) { return x * Tensor(); }, {{"x", f32, {4}}});
}

MISTAKE(typo_in_a_store, "A typo in the name of a tensor",
        R"(@)") {
  Generator rng(1);
  Mlp model(rng);
  model.store().at("fc1.wieght").set(HostTensor(f32, {8, 2}));
}

MISTAKE(found_nothing, "What Store::find didn't find",
        R"(@)") {
  Generator rng(1);
  Mlp model(rng);
  model.store().find("fc1.wieght").set(HostTensor(f32, {8, 2}));
}

MISTAKE(class_out_of_range, "A class that there isn't",
        R"(@)") {
  CompiledFunction loss = compile([](const Tensor& x, const Tensor& y) { return cross_entropy(x, y); },
                                  {{"logits", f32, {4, 5}}, {"target", i64, {4}}});
  loss.run({HostTensor(f32, {4, 5}), HostTensor::from<int64_t>({0, 4, 1, 7})});
}

MISTAKE(token_out_of_range, "A token beyond the vocabulary",
        R"(@)") {
  Generator rng(1);
  nn::Embedding table(10, 4, rng);
  CompiledFunction rows = compile(table, [&](const Tensor& t) { return tanh(table(t)); },
                                  {{"tokens", i64, {2, 3}}});
  rows.run({HostTensor::from<int64_t>({1, 2, 3, 4, 12, 6}, {2, 3})});
}

MISTAKE(value_that_is_baked_in, "A Variable that is read in a trace (a warning)",
        R"(@)") {
  Generator rng(1);
  Mlp model(rng);
  Variable scale = model.add_buffer("scale", HostTensor::scalar(0.5));
  compile(model, [&](const Tensor& x) { return model(x) * scale.value().item(); },
          {{"x", f32, {4, 2}}});
}

MISTAKE(tensor_after_its_trace, "A Tensor that is kept after its trace",
        R"(@)") {
  Tensor kept;
  compile([&](const Tensor& x) { return kept = exp(x); }, {{"x", f32, {4}}});
  kept + 1;
}

MISTAKE(tensor_of_another_program, "A Tensor of another program",
        R"(@)") {
  compile(
      [](const Tensor& x) {
        compile([&](const Tensor& y) { return x * y; }, {{"y", f32, {4}}});
        return x;
      },
      {{"x", f32, {4}}});
}

MISTAKE(layer_that_is_not_registered, "A layer that its module doesn't hold",
        R"(@)") {
  Generator rng(1);
  nn::Linear head(2, 1, rng);
  nn::Module model;  // model.add_module("head", head) is missing
  train_step(model, [&](const Tensor& x) { return mean(head(x)); }, optim::SGD({}),
             {{"x", f32, {4, 2}}});
}

MISTAKE(branches_of_two_types, "Branches that return two types",
        R"(@)") {
  compile(
      [](const Tensor& x) {
        return cond(sum(x) > 0, [&] { return x; }, [&] { return sum(x); })[0];
      },
      {{"x", f32, {4}}});
}

}  // namespace
}  // namespace cleave::mistake
