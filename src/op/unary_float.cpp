// y = f(x) of one operand, in floating point.
//
//   f(self) -> y
//   self  [*s]      any dtype; integers and bool are converted to f32
//   y     float[*s]
//
// f32, bf16 and f16 are computed in f32, f64 in f64. Outside a function's domain the result is NaN,
// at a pole an infinity. Gradients are those of PyTorch's derivatives.yaml: if a gradient reads y,
// only y needs to be saved.
#include <cmath>
#include <numbers>

#include "op/unary.h"

namespace cleave {
namespace {

using B = Builder;
using V = ValueId;
using G = const GradView&;

double reciprocal(double x) { return 1 / x; }
loop::Expr lower_reciprocal(const loop::Expr& x) { return loop::constant(x.type(), 1) / x; }
double rsqrt(double x) { return 1 / std::sqrt(x); }
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// 1 / sqrt(x^2 + c), the slope of the inverse hyperbolic functions.
V rsqrt_of_square(B& b, V x, double c) { return b.rsqrt(b.add(b.mul(x, x), c)); }
// 1 / sqrt(1 - x^2)
V rsqrt_of_rest(B& b, V x) { return b.rsqrt(b.sub(1.0, b.mul(x, x))); }

V grad_acos(B& b, G op, V g) { return b.mul(g, b.neg(rsqrt_of_rest(b, op.in(0)))); }
V grad_acosh(B& b, G op, V g) { return b.mul(g, rsqrt_of_square(b, op.in(0), -1)); }
V grad_asin(B& b, G op, V g) { return b.mul(g, rsqrt_of_rest(b, op.in(0))); }
V grad_asinh(B& b, G op, V g) { return b.mul(g, rsqrt_of_square(b, op.in(0), 1)); }
V grad_atan(B& b, G op, V g) { return b.div(g, b.add(b.mul(op.in(0), op.in(0)), 1.0)); }
V grad_atanh(B& b, G op, V g) { return b.div(g, b.sub(1.0, b.mul(op.in(0), op.in(0)))); }
V grad_cos(B& b, G op, V g) { return b.mul(g, b.neg(b.sin(op.in(0)))); }
V grad_cosh(B& b, G op, V g) { return b.mul(g, b.sinh(op.in(0))); }
V grad_erf(B& b, G op, V g) {
  const V slope = b.mul(b.exp(b.neg(b.mul(op.in(0), op.in(0)))), 2 * std::numbers::inv_sqrtpi);
  return b.mul(g, slope);
}
V grad_exp(B& b, G op, V g) { return b.mul(g, op.out(0)); }
V grad_exp2(B& b, G op, V g) { return b.mul(g, b.mul(op.out(0), std::numbers::ln2)); }
V grad_expm1(B& b, G op, V g) { return b.mul(g, b.add(op.out(0), 1.0)); }
V grad_log(B& b, G op, V g) { return b.div(g, op.in(0)); }
V grad_log10(B& b, G op, V g) { return b.div(g, b.mul(op.in(0), std::numbers::ln10)); }
V grad_log1p(B& b, G op, V g) { return b.div(g, b.add(op.in(0), 1.0)); }
V grad_log2(B& b, G op, V g) { return b.div(g, b.mul(op.in(0), std::numbers::ln2)); }
V grad_reciprocal(B& b, G op, V g) { return b.mul(b.neg(g), b.mul(op.out(0), op.out(0))); }
V grad_rsqrt(B& b, G op, V g) {
  const V y = op.out(0);
  return b.mul(b.mul(g, -0.5), b.mul(b.mul(y, y), y));
}
V grad_sigmoid(B& b, G op, V g) { return b.call1("sigmoid_backward", {g, op.out(0)}); }
V grad_sin(B& b, G op, V g) { return b.mul(g, b.cos(op.in(0))); }
V grad_sinh(B& b, G op, V g) { return b.mul(g, b.cosh(op.in(0))); }
V grad_sqrt(B& b, G op, V g) { return b.div(g, b.mul(op.out(0), 2.0)); }
V grad_tan(B& b, G op, V g) { return b.mul(g, b.add(b.mul(op.out(0), op.out(0)), 1.0)); }
V grad_tanh(B& b, G op, V g) { return b.call1("tanh_backward", {g, op.out(0)}); }

}  // namespace

CLEAVE_OPS(unary_float) {
  using loop::Op;
  const FloatRow rows[] = {
      {"acos", "arc cosine, in [0, pi]", std::acos, lower_to<Op::acos>, 10, grad_acos, -0.9, 0.9},
      {"acosh", "inverse hyperbolic cosine", std::acosh, lower_to<Op::acosh>, 10, grad_acosh, 1.2,
       4},
      {"asin", "arc sine, in [-pi/2, pi/2]", std::asin, lower_to<Op::asin>, 10, grad_asin, -0.9,
       0.9},
      {"asinh", "inverse hyperbolic sine", std::asinh, lower_to<Op::asinh>, 10, grad_asinh, -3, 3},
      {"atan", "arc tangent, in [-pi/2, pi/2]", std::atan, lower_to<Op::atan>, 10, grad_atan, -3,
       3},
      {"atanh", "inverse hyperbolic tangent", std::atanh, lower_to<Op::atanh>, 10, grad_atanh, -0.9,
       0.9},
      {"cos", "cosine of radians", std::cos, lower_to<Op::cos>, 10, grad_cos, -4, 4},
      {"cosh", "hyperbolic cosine", std::cosh, lower_to<Op::cosh>, 10, grad_cosh, -3, 3},
      {"erf", "error function, 2/sqrt(pi) * integral of exp(-t^2) from 0 to x", std::erf,
       lower_to<Op::erf>, 15, grad_erf, -3, 3},
      {"exp", "e to the power x", std::exp, lower_to<Op::exp>, 10, grad_exp, -3, 3, true},
      {"exp2", "2 to the power x", std::exp2, lower_to<Op::exp2>, 10, grad_exp2, -3, 3},
      {"expm1", "exp(x) - 1, accurate near 0", std::expm1, lower_to<Op::expm1>, 12, grad_expm1, -3,
       3},
      {"log", "natural logarithm", std::log, lower_to<Op::log>, 10, grad_log, 0.2, 5, true},
      {"log10", "logarithm to base 10", std::log10, lower_to<Op::log10>, 11, grad_log10, 0.2, 5},
      {"log1p", "log(1 + x), accurate near 0", std::log1p, lower_to<Op::log1p>, 12, grad_log1p,
       -0.7, 4},
      {"log2", "logarithm to base 2", std::log2, lower_to<Op::log2>, 11, grad_log2, 0.2, 5},
      {"reciprocal", "1 / x", reciprocal, lower_reciprocal, 1, grad_reciprocal, 0.3, 4},
      {"rsqrt", "1 / sqrt(x)", rsqrt, lower_to<Op::rsqrt>, 2, grad_rsqrt, 0.3, 4},
      {"sigmoid", "1 / (1 + exp(-x))", sigmoid, lower_to<Op::sigmoid>, 12, grad_sigmoid, -4, 4,
       true},
      {"sin", "sine of radians", std::sin, lower_to<Op::sin>, 10, grad_sin, -4, 4},
      {"sinh", "hyperbolic sine", std::sinh, lower_to<Op::sinh>, 10, grad_sinh, -3, 3},
      {"sqrt", "square root", std::sqrt, lower_to<Op::sqrt>, 1, grad_sqrt, 0.3, 4},
      {"tan", "tangent of radians", std::tan, lower_to<Op::tan>, 12, grad_tan, -1.2, 1.2},
      {"tanh", "hyperbolic tangent", std::tanh, lower_to<Op::tanh>, 12, grad_tanh, -3, 3, true},
  };
  std::vector<OpDef> ops;
  for (const FloatRow& row : rows) ops.push_back(float_entry(row));
  return ops;
}

}  // namespace cleave
