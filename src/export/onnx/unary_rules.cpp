// Operators of one operand.
#include <cmath>
#include <numbers>
#include <string_view>
#include <utility>

#include "export/onnx/rules.h"

namespace cleave::to_onnx {
namespace {

// Functions that ONNX has, on floats.
constexpr std::pair<std::string_view, const char*> functions[] = {
    {"acos", "Acos"}, {"acosh", "Acosh"},     {"asin", "Asin"},   {"asinh", "Asinh"},
    {"atan", "Atan"}, {"atanh", "Atanh"},     {"cos", "Cos"},     {"cosh", "Cosh"},
    {"erf", "Erf"},   {"exp", "Exp"},         {"log", "Log"},     {"reciprocal", "Reciprocal"},
    {"sin", "Sin"},   {"sigmoid", "Sigmoid"}, {"sinh", "Sinh"},   {"sqrt", "Sqrt"},
    {"tanh", "Tanh"}, {"ceil", "Ceil"},       {"floor", "Floor"}, {"abs", "Abs"},
    {"neg", "Neg"}};

const char* function_of(const Call& c) {
  for (const auto& [op, onnx] : functions)
    if (op == c.op().name()) return onnx;
  return nullptr;
}

// In the dtype that carries the result's: integers become f32.
V operand(Call& c) { return c.in(0, carried(c.result(0).dtype)); }

Status function(Call& c) {
  c.give(0, c.node(function_of(c), {operand(c)}));
  return {};
}

// Integers are whole.
Status rounding(Call& c) {
  if (!is_floating(c.dtype(0))) {
    c.give(0, c.in(0));
    return {};
  }
  return function(c);
}

Status trunc(Call& c) {
  c.give(0, is_floating(c.dtype(0)) ? truncated(c, operand(c)) : c.in(0));
  return {};
}

// Halves to even, as ONNX has it.
Status round(Call& c) {
  const int64_t decimals = c.op().int_attr("decimals");
  if (!is_floating(c.dtype(0))) {
    c.give(0, c.in(0));
    return {};
  }
  const V x = operand(c);
  if (decimals == 0) {
    c.give(0, c.node("Round", {x}));
    return {};
  }
  const V p = c.number(std::pow(10.0, std::abs(static_cast<double>(decimals))), x.dtype);
  const char *there = decimals > 0 ? "Mul" : "Div", *back = decimals > 0 ? "Div" : "Mul";
  c.give(0, c.node(back, {c.node("Round", {c.node(there, {x, p})}), p}));
  return {};
}

// Tan has no kernel for f64 in onnxruntime.
Status tan(Call& c) {
  const V x = operand(c);
  c.give(0, x.dtype == DType::f64 ? c.node("Div", {c.node("Sin", {x}), c.node("Cos", {x})})
                                  : c.node("Tan", {x}));
  return {};
}

Status rsqrt(Call& c) {
  c.give(0, c.node("Reciprocal", {c.node("Sqrt", {operand(c)})}));
  return {};
}

// In f64: the quotient of two f32 would be off at powers of the base.
Status logarithm(Call& c, double scale) {
  c.give(0, c.node("Mul",
                   {c.node("Log", {c.cast(operand(c), DType::f64)}), c.number(scale, DType::f64)}));
  return {};
}
Status log2(Call& c) { return logarithm(c, std::numbers::log2e); }
Status log10(Call& c) { return logarithm(c, std::numbers::log10e); }

// Where u = exp(x) rounds to 1, x; where u - 1 is -1 or infinite, that; else (u - 1) x / log(u), in
// which the rounding of u cancels. Source: W. Kahan, as in N. Higham, Accuracy and Stability of
// Numerical Algorithms, 2nd edition, 1.14.1.
Status expm1(Call& c) {
  const V x = operand(c), one = c.number(1, x.dtype);
  const V u = c.node("Exp", {x});
  const V less = c.node("Sub", {u, one});
  const V near = c.node("Div", {c.node("Mul", {less, x}), c.node("Log", {u})});
  const V low = c.compare("Equal", less, c.number(-1, x.dtype));
  const V high = c.compare("Equal", less, c.number(INFINITY, x.dtype));
  const V plain = c.node("Or", {low, high});
  const V y = c.where(plain, less, near);
  c.give(0, c.where(c.compare("Equal", u, one), x, y));
  return {};
}

// The same for log(u) x / (u - 1), u = 1 + x.
Status log1p(Call& c) {
  const V x = operand(c), one = c.number(1, x.dtype);
  const V u = c.node("Add", {x, one});
  const V log = c.node("Log", {u});
  const V near = c.node("Div", {c.node("Mul", {log, x}), c.node("Sub", {u, one})});
  const V y = c.where(c.compare("Equal", u, c.number(INFINITY, x.dtype)), log, near);
  c.give(0, c.where(c.compare("Equal", u, one), x, y));
  return {};
}

// Of NaN 0; ONNX leaves that open.
Status sign(Call& c) {
  const V x = operand(c), zero = c.number(0, x.dtype);
  if (!is_floating(x.dtype)) {
    c.give(0, c.node("Sign", {x}));
    return {};
  }
  const V above = c.cast(c.compare("Greater", x, zero), x.dtype);
  const V below = c.cast(c.compare("Less", x, zero), x.dtype);
  c.give(0, c.node("Sub", {above, below}));
  return {};
}

Status relu(Call& c) {
  const V x = operand(c);
  c.give(0, x.dtype == DType::i64 ? c.node("Max", {x, c.number(0, x.dtype)}) : c.node("Relu", {x}));
  return {};
}

// ---- tests, with a bool result

Status test(Call& c, const char* onnx) {
  if (is_floating(c.dtype(0))) {
    c.give(0, c.node(onnx, {c.carried(0)}, DType::boolean));
    return {};
  }
  const V zero = c.number(0, DType::boolean);
  c.give(0, c.expand(zero, c.shape(0)));
  return {};
}
Status isnan(Call& c) { return test(c, "IsNaN"); }
Status isinf(Call& c) { return test(c, "IsInf"); }

Status logical_not(Call& c) {
  c.give(0, c.node("Not", {c.in(0, DType::boolean)}));
  return {};
}

Status bitwise_not(Call& c) {
  c.give(0, c.node(c.dtype(0) == DType::boolean ? "Not" : "BitwiseNot", {c.in(0)}));
  return {};
}

constexpr RuleEntry rules[] = {{"acos", function},
                               {"acosh", function},
                               {"asin", function},
                               {"asinh", function},
                               {"atan", function},
                               {"atanh", function},
                               {"cos", function},
                               {"cosh", function},
                               {"erf", function},
                               {"exp", function},
                               {"log", function},
                               {"reciprocal", function},
                               {"sin", function},
                               {"sigmoid", function},
                               {"sinh", function},
                               {"sqrt", function},
                               {"tanh", function},
                               {"abs", function},
                               {"neg", function},
                               {"ceil", rounding},
                               {"floor", rounding},
                               {"trunc", trunc},
                               {"round", round},
                               {"tan", tan},
                               {"rsqrt", rsqrt},
                               {"log2", log2},
                               {"log10", log10},
                               {"expm1", expm1},
                               {"log1p", log1p},
                               {"sign", sign},
                               {"relu", relu},
                               {"isnan", isnan},
                               {"isinf", isinf},
                               {"logical_not", logical_not},
                               {"bitwise_not", bitwise_not}};

}  // namespace

std::span<const RuleEntry> unary_rules() { return rules; }

}  // namespace cleave::to_onnx
