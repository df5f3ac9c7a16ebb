// Mistakes with operators.
#include "test/mistake/mistake.h"

namespace cleave::mistake {
namespace {

MISTAKE(operator_that_is_not_there, "An operator that there isn't",
        "program.cpp:1: call: there is no operator gelo; the nearest name is gelu; one "
        "of your own is given with CompileOptions::ops") {
  compile([](const Tensor& x) { return call("gelo", {x})[0]; }, {{"x", f32, {4}}});
}

MISTAKE(attribute_that_is_not_there, "An attribute that there isn't",
        "program.cpp:1: call: gelu has no attribute aproximate: (Tensor self, *, str "
        "approximate='none') -> Tensor") {
  compile([](const Tensor& x) { return call("gelu", {x}, {{"aproximate", "tanh"}})[0]; },
          {{"x", f32, {4}}});
}

MISTAKE(operands_of_an_operator, "An operand too many",
        "program.cpp:1: call: exp takes 1 operand, got 2") {
  compile([](const Tensor& x) { return call("exp", {x, x})[0]; }, {{"x", f32, {4}}});
}

MISTAKE(operator_without_a_kernel, "An operator without a kernel",
        "Operators: add: twice: expected either kernel or callback") {
  Operators ops;
  ops.add({.name = "twice",
           .signature = "(Tensor x) -> Tensor",
           .infer = [](const OpCall& op) { return std::vector{op.operand(0)}; },
           .reference = [](const OpCall&, const HostTensors&, HostTensors&) {}});
}

MISTAKE(signature_that_does_not_parse, "A signature that isn't one",
        "Operators: add: twice: signature 'Tensor x -> Tensor': expected '(' at "
        "character 1") {
  Operators ops;
  ops.add({.name = "twice",
           .signature = "Tensor x -> Tensor",
           .infer = [](const OpCall& op) { return std::vector{op.operand(0)}; },
           .reference = [](const OpCall&, const HostTensors&, HostTensors&) {},
           .kernel = [](const OpCall&) { return "result0[0] = 2 * x[0];"; }});
}

#if CLEAVE_HAVE_CLANG
MISTAKE(kernel_that_does_not_compile, "A kernel that doesn't compile",
        "program.cpp:8: operator twice: its kernel doesn't compile:\n"
        "kernel of twice:2:14: error: use of undeclared identifier 'z'\n"
        "    2 |   y[i] = 2 * z[i];\n"
        "      |              ^\n"
        "1 error generated.") {
  Operators ops;
  ops.add(
      {.name = "twice",
       .signature = "(Tensor x) -> (Tensor y)",
       .infer = [](const OpCall& op) { return std::vector{op.operand(0)}; },
       .reference = [](const OpCall&, const HostTensors&, HostTensors&) {},
       .kernel = [](const OpCall&) { return "for (long i = 0; i < 4; ++i)\n  y[i] = 2 * z[i];"; }});
  compile([](const Tensor& x) { return call("twice", {x})[0]; }, {{"x", f32, {4}}},
          {.compiler = CompilerChoice::clang, .ops = ops});
}
#endif

MISTAKE(operator_without_a_gradient, "An operator without a gradient",
        "(unsupported) program.cpp:9: train_step: twice: has no gradient: "
        "Operator::grad is not set\n"
        "  %twice = twice(%mul) : f32[]  # program.cpp:9") {
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
        "program.cpp:7: call: there is no operator twice; the nearest name is slice; "
        "one of your own is given with CompileOptions::ops") {
  Operators ops;
  ops.add({.name = "twice",
           .signature = "(Tensor x) -> (Tensor y)",
           .infer = [](const OpCall& op) { return std::vector{op.operand(0)}; },
           .reference = [](const OpCall&, const HostTensors&, HostTensors&) {},
           .kernel = [](const OpCall&) { return "y[0] = 2 * x[0];"; }});
  compile([](const Tensor& x) { return call("twice", {x})[0]; }, {{"x", f32, {}}});
}

MISTAKE(gradients_of_an_operator, "A gradient too few",
        "program.cpp:11: train_step: gradient of product: product: grad: 1 gradients "
        "for 2 operands\n"
        "  %product = product(%w, %x) : f32[]  # program.cpp:11") {
  Operators ops;
  ops.add(
      {.name = "product",
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
