// Mistakes with operators.
#include "test/mistake/mistake.h"

namespace cleave::mistake {
namespace {

MISTAKE(operator_that_is_not_there, "An operator that there isn't",
        R"(@)") {
  compile([](const Tensor& x) { return call("gelo", {x})[0]; }, {{"x", f32, {4}}});
}

MISTAKE(attribute_that_is_not_there, "An attribute that there isn't",
        R"(@)") {
  compile([](const Tensor& x) { return call("gelu", {x}, {{"aproximate", "tanh"}})[0]; },
          {{"x", f32, {4}}});
}

MISTAKE(operands_of_an_operator, "An operand too many",
        R"(@)") {
  compile([](const Tensor& x) { return call("exp", {x, x})[0]; }, {{"x", f32, {4}}});
}

MISTAKE(operator_without_a_kernel, "An operator without a kernel",
        R"(@)") {
  Operators ops;
  ops.add({.name = "twice",
           .signature = "(Tensor x) -> Tensor",
           .infer = [](const OpCall& op) { return std::vector{op.operand(0)}; },
           .reference = [](const OpCall&, const HostTensors&, HostTensors&) {}});
}

MISTAKE(signature_that_does_not_parse, "A signature that isn't one",
        R"(@)") {
  Operators ops;
  ops.add({.name = "twice",
           .signature = "Tensor x -> Tensor",
           .infer = [](const OpCall& op) { return std::vector{op.operand(0)}; },
           .reference = [](const OpCall&, const HostTensors&, HostTensors&) {},
           .kernel = [](const OpCall&) { return "result0[0] = 2 * x[0];"; }});
}

MISTAKE(kernel_that_does_not_compile, "A kernel that doesn't compile",
        R"(@)") {
  Operators ops;
  ops.add({.name = "twice",
           .signature = "(Tensor x) -> (Tensor y)",
           .infer = [](const OpCall& op) { return std::vector{op.operand(0)}; },
           .reference = [](const OpCall&, const HostTensors&, HostTensors&) {},
           .kernel = [](const OpCall&) {
             return "for (long i = 0; i < 4; ++i)\n  y[i] = 2 * z[i];";
           }});
  compile([](const Tensor& x) { return call("twice", {x})[0]; }, {{"x", f32, {4}}},
          {.compiler = CompilerChoice::clang, .ops = ops});
}

MISTAKE(operator_without_a_gradient, "An operator without a gradient",
        R"(@)") {
  Operators ops;
  ops.add({.name = "twice",
           .signature = "(Tensor x) -> (Tensor y)",
           .infer = [](const OpCall& op) { return std::vector{op.operand(0)}; },
           .reference = [](const OpCall&, const HostTensors&, HostTensors&) {},
           .kernel = [](const OpCall&) { return "y[0] = 2 * x[0];"; }});
  nn::Module model;
  const Variable w = model.add_parameter("w", HostTensor(f32, {}));
  train_step(model, [&](const Tensor& x) { return call("twice", {w * x})[0]; }, optim::SGD({}),
             {{"x", f32, {}}}, {.compile = {.ops = ops}});
}

MISTAKE(operators_that_are_not_given, "Operators that the program isn't given",
        R"(@)") {
  Operators ops;
  ops.add({.name = "twice",
           .signature = "(Tensor x) -> (Tensor y)",
           .infer = [](const OpCall& op) { return std::vector{op.operand(0)}; },
           .reference = [](const OpCall&, const HostTensors&, HostTensors&) {},
           .kernel = [](const OpCall&) { return "y[0] = 2 * x[0];"; }});
  compile([](const Tensor& x) { return call("twice", {x})[0]; }, {{"x", f32, {}}});
}

MISTAKE(gradients_of_an_operator, "A gradient too few",
        R"(@)") {
  Operators ops;
  ops.add({.name = "product",
           .signature = "(Tensor a, Tensor b) -> (Tensor y)",
           .infer = [](const OpCall& op) { return std::vector{op.operand(0)}; },
           .reference = [](const OpCall&, const HostTensors&, HostTensors&) {},
           .grad = [](const OpGradCall& op) { return Tensors{op.cotangent(0) * op.operand_value(1)}; },
           .kernel = [](const OpCall&) { return "y[0] = a[0] * b[0];"; }});
  nn::Module model;
  const Variable w = model.add_parameter("w", HostTensor(f32, {}));
  train_step(model, [&](const Tensor& x) { return call("product", {w, x})[0]; }, optim::SGD({}),
             {{"x", f32, {}}}, {.compile = {.ops = ops}});
}

}  // namespace
}  // namespace cleave::mistake
