// Relatives of the error function.
//
//   erfc(self)             1 - erf(x), accurate where that is small
//   special_erfcx(self)    exp(x^2) erfc(x)
//   special_ndtri(self)    the x below which a normal number is with probability p
//   special_log_ndtr(self) the logarithm of the probability that a normal number is below x
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
  long double low = 0, high = 40;
  for (int step = 0; step < 72; ++step) {
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

double ndtri_value(double p) {
  if (std::isnan(p) || p < 0 || p > 1) return NAN;
  if (p == 0 || p == 1) return p == 0 ? -INFINITY : INFINITY;
  const long double y = std::numbers::sqrt2_v<long double> *
                        inverse_erfc(2 * std::min<long double>(p, 1 - static_cast<long double>(p)));
  return static_cast<double>(p < 0.5 ? -y : y);
}

double log_ndtr_value(double x) {
  const long double y = x / std::numbers::sqrt2_v<long double>;
  if (x > -1) return static_cast<double>(std::log1p(-std::erfc(y) / 2));
  return static_cast<double>(
      std::log(static_cast<long double>(erfcx_value(static_cast<double>(-y))) / 2) - y * y);
}

// ---- lowering

Expr lower_erfcx(KernelBuilder& k, const Expr& x) {
  const Expr size = k.let(unary(Op::abs, x), "size");
  const Expr z = k.let(select(is_below(number(40), size), number(40), size), "z");
  const Expr y = k.let(scaled_erfc(k, size), "y");
  return select(is_below(x, number(0)), exp_of_square(k, z, 1) * number(2) - y, y);
}

// The x >= 0 of erf(x) = y and erfc(x) = q, with 0 < q = 1 - y: Winitzki's approximation, then
// steps of Halley's rule, by that of both that has more digits.
Expr inverse(KernelBuilder& k, const Expr& y, const Expr& q, int steps) {
  constexpr double a = 0.147;
  const Expr is_small = k.let(is_below(y, number(0.5)), "small");
  const Expr log = k.let(
      select(is_small, unary(Op::log1p, -(y * y)), unary(Op::log, q * (number(2) - q))), "log");
  const Expr half = k.let(log * number(0.5) + number(2 / (M_PI * a)), "half");
  const Expr root = unary(Op::sqrt, half * half - log / number(a));
  Expr x = k.let(unary(Op::sqrt, root - half), "x");
  for (int step = 0; step < steps; ++step) {
    const Expr left = select(is_small, unary(Op::erf, x) - y, q - special::erfc(k, x));
    const Expr u = k.let(left / (exp_of_square(k, x, -1) * number(twice_inv_sqrtpi)), "u");
    x = k.let(x - u / (x * u + number(1)), "x");
  }
  return x;
}

Expr lower_erfinv(KernelBuilder& k, const Expr& y) {
  const Expr size = k.let(unary(Op::abs, y), "size");
  const Expr inside = k.let(is_below(size, number(1)), "inside");
  const Expr inner = k.let(select(inside, size, number(0)), "inner");
  Expr x = inverse(k, inner, k.let(number(1) - inner, "q"), 2);
  x = select(inside, x, select(is_equal(size, number(1)), number(INFINITY), number(NAN)));
  return select(is_equal(y, number(0)), y, select(is_below(y, number(0)), -x, x));
}

Expr lower_ndtri(KernelBuilder& k, const Expr& p) {
  const Expr is_low = k.let(is_below(p, number(0.5)), "low");
  const Expr tail = k.let(select(is_low, p, number(1) - p), "tail");
  const Expr inside = k.let(is_below(number(0), tail), "inside");
  const Expr q = k.let(select(inside, tail + tail, number(1)), "q");
  Expr x = inverse(k, k.let(number(1) - q, "y"), q, 4) * number(std::numbers::sqrt2);
  x = select(inside, x, select(is_equal(tail, number(0)), number(INFINITY), number(NAN)));
  return select(is_low, -x, x);
}

// Of x below -1 by the tail alone.
Expr lower_log_ndtr(KernelBuilder& k, const Expr& x) {
  const Expr z = k.let(x * number(1 / std::numbers::sqrt2), "z");
  const Expr is_low = k.let(is_below(x, number(-1)), "low");
  const Expr size = k.let(select(is_low, -z, number(1)), "size");
  const Expr low = unary(Op::log, scaled_erfc(k, size) * number(0.5)) - z * z;
  const Expr high = unary(Op::log1p, special::erfc(k, z) * number(-0.5));
  return select(is_low, low, high);
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

V grad_ndtri(B& b, G op, V g) {
  const V half = b.mul(b.mul(op.out(0), op.out(0)), 0.5);
  return b.mul(g, b.mul(b.exp(half), std::sqrt(2 * M_PI)));
}
V grad_log_ndtr(B& b, G op, V g) {
  const V scaled = b.call1("special_erfcx", {b.mul(op.in(0), -1 / std::numbers::sqrt2)});
  return b.mul(g, b.div(std::sqrt(2 / M_PI), scaled));
}

}  // namespace

CLEAVE_OPS(special_erf) {
  const SpecialRow rows[] = {
      {"erfc", "1 - erf(x), accurate where it is small", std::erfc, special::erfc, 100, grad_erfc,
       -3, 3},
      {"special_erfcx", "exp(x^2) * erfc(x)", erfcx_value, lower_erfcx, 110, grad_erfcx, -2, 3},
      {"erfinv", "the number whose erf is x", erfinv_value, lower_erfinv, 300, grad_erfinv, -0.9,
       0.9},
      {"special_ndtri", "the number below which a normal one lies with probability x", ndtri_value,
       lower_ndtri, 500, grad_ndtri, 0.06, 0.94},
      {"special_log_ndtr", "the logarithm of a normal number's probability to be below x",
       log_ndtr_value, lower_log_ndtr, 250, grad_log_ndtr, -4, 3},
  };
  std::vector<OpDef> ops;
  for (const SpecialRow& row : rows) ops.push_back(special_entry(row));
  return ops;
}

}  // namespace cleave
