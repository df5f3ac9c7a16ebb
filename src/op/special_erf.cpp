// Relatives of the error function.
//
//   erfc(self)             1 - erf(x), accurate where that is small
//   special_erfcx(self)    exp(x^2) erfc(x)
//   erfinv(self)           the x of erf(x) = y; inf with its sign at 1 and -1, NaN beyond
//
//   self  [*s]  any dtype; integers and bool are converted to f32     y  float[*s]
#include <cmath>
#include <numbers>

#include "op/special.h"

namespace cleave {
namespace {

using loop::Expr;
using loop::KernelBuilder;
using loop::Op;
using namespace special;
using B = Builder;
using V = ValueId;
using G = const GradView&;

constexpr double twice_inv_sqrtpi = 2 * std::numbers::inv_sqrtpi;

// ---- references, in long double

double erfcx_value(double x) {
  const long double y = x;
  if (x < 50) return static_cast<double>(std::exp(y * y) * std::erfc(y));
  return static_cast<double>(std::numbers::inv_sqrtpi_v<long double> / y *
                             (1 - 1 / (2 * y * y) + 3 / (4 * y * y * y * y)));
}

// By halving the interval where the complement lies.
long double inverse_erfc(long double q) {
  long double low = 0, high = 120;
  for (int step = 0; step < 200; ++step) {
    const long double middle = (low + high) / 2;
    (std::erfc(middle) > q ? low : high) = middle;
  }
  return low;
}

double erfinv_value(double y) {
  if (std::isnan(y) || std::fabs(y) > 1) return NAN;
  if (std::fabs(y) == 1) return std::copysign(INFINITY, y);
  if (std::fabs(y) < 1e-8) return y / twice_inv_sqrtpi;
  return std::copysign(
      static_cast<double>(inverse_erfc(1 - std::fabs(static_cast<long double>(y)))), y);
}

// ---- lowering

Expr lower_erfcx(KernelBuilder& k, const Expr& x) {
  const Expr size = k.let(unary(Op::abs, x), "size");
  const Expr z = k.let(select(is_below(number(40), size), number(40), size), "z");
  const Expr y = k.let(scaled_erfc(k, size), "y");
  return select(is_below(x, number(0)), exp_of_square(k, z, 1) * number(2) - y, y);
}

// Winitzki's approximation, then two steps of Halley's rule for the part of erfc that is left:
// 1 - |y| is exact where digits would cancel.
Expr lower_erfinv(KernelBuilder& k, const Expr& y) {
  constexpr double a = 0.147;
  const Expr size = unary(Op::abs, y);
  const Expr inside = k.let(is_below(size, number(1)), "inside");
  const Expr inner = k.let(select(inside, size, number(0)), "inner");
  const Expr log = k.let(unary(Op::log1p, -(inner * inner)), "log");
  const Expr half = k.let(log * number(0.5) + number(2 / (M_PI * a)), "half");
  const Expr root = unary(Op::sqrt, half * half - log / number(a));
  Expr x = k.let(unary(Op::sqrt, root - half), "x");
  const Expr is_small = k.let(is_below(inner, number(0.5)), "small");
  for (int step = 0; step < 2; ++step) {
    const Expr left =
        select(is_small, unary(Op::erf, x) - inner, (number(1) - inner) - special::erfc(k, x));
    const Expr u = k.let(left / (unary(Op::exp, -(x * x)) * number(twice_inv_sqrtpi)), "u");
    x = k.let(x - u / (x * u + number(1)), "x");
  }
  const Expr is_edge = is_equal(size, number(1));
  x = select(inside, x, select(is_edge, number(INFINITY), number(NAN)));
  return select(is_below(y, number(0)), -x,
                select(is_equal(inner, number(0)), select(inside, y, x), x));
}

// ---- gradients

V grad_erfc(B& b, G op, V g) {
  const V slope = b.mul(b.exp(b.neg(b.mul(op.in(0), op.in(0)))), -twice_inv_sqrtpi);
  return b.mul(g, slope);
}
V grad_erfcx(B& b, G op, V g) {
  return b.mul(g, b.sub(b.mul(b.mul(op.in(0), 2.0), op.out(0)), twice_inv_sqrtpi));
}
V grad_erfinv(B& b, G op, V g) {
  return b.mul(g, b.mul(b.exp(b.mul(op.out(0), op.out(0))), 1 / twice_inv_sqrtpi));
}

}  // namespace

CLEAVE_OPS(special_erf) {
  const SpecialRow rows[] = {
      {"erfc", "1 - erf(x), accurate where it is small", std::erfc, special::erfc, 100, grad_erfc,
       -3, 3},
      {"special_erfcx", "exp(x^2) * erfc(x)", erfcx_value, lower_erfcx, 110, grad_erfcx, -2, 3},
      {"erfinv", "the number whose erf is x", erfinv_value, lower_erfinv, 300, grad_erfinv, -0.9,
       0.9},
  };
  std::vector<OpDef> ops;
  for (const SpecialRow& row : rows) ops.push_back(special_entry(row));
  return ops;
}

}  // namespace cleave
