// Activations: functions of one variable with few parameters.
#include <algorithm>

#include "import/onnx/rules.h"

namespace cleave::onnx {
namespace {

Status give(Call& c, V v) {
  c.give(0, v, c.element(0));
  return {};
}

Status relu(Call& c) { return give(c, c.op("relu", {c.in(0)})); }
Status sigmoid(Call& c) { return give(c, c.op("sigmoid", {c.in(0)})); }
Status tanh(Call& c) { return give(c, c.op("tanh", {c.in(0)})); }
Status softplus(Call& c) { return give(c, c.op("softplus", {c.in(0)})); }
Status hard_swish(Call& c) { return give(c, c.op("hardswish", {c.in(0)})); }

Status elu(Call& c) { return give(c, c.op("elu", {c.in(0)}, {{"alpha", c.real("alpha", 1)}})); }

Status celu(Call& c) {
  const double alpha = c.real("alpha", 1);
  if (alpha == 0) return user_error("alpha is 0");
  return give(c, c.op("elu", {c.in(0)}, {{"alpha", alpha}, {"input_scale", 1 / alpha}}));
}

Status selu(Call& c) {
  return give(c, c.op("elu", {c.in(0)},
                      {{"alpha", c.real("alpha", 1.67326319217681884765625)},
                       {"scale", c.real("gamma", 1.05070102214813232421875)}}));
}

Status leaky_relu(Call& c) {
  return give(c, c.op("leaky_relu", {c.in(0)}, {{"negative_slope", c.real("alpha", 0.01)}}));
}

Status prelu(Call& c) {
  const V x = c.in(0);
  return give(c, c.where(c.op("lt", {x, 0}), c.mul(x, c.in(1)), x));
}

Status hard_sigmoid(Call& c) {
  const V line = c.add(c.mul(c.in(0), c.real("alpha", 0.2)), c.real("beta", 0.5));
  return give(c, c.op("clamp", {line, 0.0, 1.0}));
}

Status mish(Call& c) {
  const V x = c.in(0);
  return give(c, c.mul(x, c.op("tanh", {c.op("softplus", {x})})));
}

Status softsign(Call& c) {
  const V x = c.in(0);
  return give(c, c.div(x, c.add(c.op("abs", {x}), 1.0)));
}

Status thresholded_relu(Call& c) {
  const V x = c.in(0);
  return give(c, c.where(c.op("gt", {x, c.real("alpha", 1)}), x, 0.0));
}

// Of integers by way of f64, cut off at last.
Status shrink(Call& c) {
  const Element e = c.element(0), wide = is_float(e) ? e : Element::f64;
  const V x = c.cast(c.in(0), e, wide);
  const double lambda = c.real("lambd", 0.5), bias = c.real("bias");
  const V above = c.where(c.op("gt", {x, lambda}), c.sub(x, bias), 0.0);
  const V y = c.where(c.op("lt", {x, -lambda}), c.add(x, bias), above);
  return give(c, c.cast(y, wide, e));
}

Status swish(Call& c) {
  const V x = c.in(0);
  const double alpha = c.real("alpha", 1);
  return give(c, c.mul(x, c.op("sigmoid", {alpha == 1 ? x : c.mul(x, alpha)})));
}

Status gelu(Call& c) {
  return give(c, c.op("gelu", {c.in(0)}, {{"approximate", c.text("approximate", "none")}}));
}

// Before opset 13 the axis splits the dims in two, and all after it are one line.
Status along_axis(Call& c, const char* op) {
  const int64_t rank = c.rank(0);
  if (rank == 0) return user_error("the operand has no dims");
  CLEAVE_TRY(const int64_t axis, c.axis(c.integer("axis", c.version() < 13 ? 1 : -1), rank));
  V x = c.in(0);
  const Shape s = c.shape(0);
  if (c.version() < 13 && axis != rank - 1) {
    const size_t at = static_cast<size_t>(axis);
    x = c.view(x, {product_of(s, 0, at), product_of(s, at, s.size())});
    return give(c, c.view(c.op(op, {x}, {{"dim", 1}, {"half_to_float", false}}), s));
  }
  return give(c, c.op(op, {x}, {{"dim", axis}, {"half_to_float", false}}));
}
Status softmax_rule(Call& c) { return along_axis(c, "_softmax"); }
Status log_softmax(Call& c) { return along_axis(c, "_log_softmax"); }

// 1 where the first largest element of the line is.
Status hardmax(Call& c) {
  const int64_t rank = c.rank(0);
  CLEAVE_TRY(int64_t axis, c.axis(c.integer("axis", c.version() < 13 ? 1 : -1), rank));
  const Shape s = c.shape(0);
  V x = c.in(0);
  if (std::ranges::find(s, Dim(0)) != s.end()) return give(c, x);
  if (c.version() < 13) {
    const size_t at = static_cast<size_t>(axis);
    x = c.view(x, {product_of(s, 0, at), product_of(s, at, s.size())});
    axis = 1;
  }
  const Dim n = c.rank(x) > axis ? c.shape(x)[static_cast<size_t>(axis)] : Dim(1);
  const V first = c.op("argmax", {x}, {{"dim", axis}, {"keepdim", true}});
  V at = c.op("arange", {}, {{"end", n}});
  Shape line(static_cast<size_t>(c.rank(x)), Dim(1));
  if (axis < static_cast<int64_t>(line.size())) line[static_cast<size_t>(axis)] = n;
  at = c.view(at, line);
  return give(c, c.view(c.convert(c.op("eq", {first, at}), c.dtype(0)), s));
}

constexpr RuleEntry entries[] = {{"Relu", relu},
                                 {"Sigmoid", sigmoid},
                                 {"Tanh", tanh},
                                 {"Softplus", softplus},
                                 {"HardSwish", hard_swish},
                                 {"Elu", elu},
                                 {"Celu", celu},
                                 {"Selu", selu},
                                 {"LeakyRelu", leaky_relu},
                                 {"PRelu", prelu},
                                 {"HardSigmoid", hard_sigmoid},
                                 {"Mish", mish},
                                 {"Softsign", softsign},
                                 {"ThresholdedRelu", thresholded_relu},
                                 {"Shrink", shrink},
                                 {"Swish", swish},
                                 {"Gelu", gelu},
                                 {"Softmax", softmax_rule},
                                 {"LogSoftmax", log_softmax},
                                 {"Hardmax", hardmax}};

}  // namespace

std::span<const RuleEntry> activation_rules() { return entries; }

}  // namespace cleave::onnx
