// Modified Bessel functions of the first kind.
//
//   i0(self)   special_i1(self)      I0(x), I1(x)
//   special_i0e   special_i1e        times exp(-|x|)
//
//   self  [*s]  any dtype; integers and bool are converted to f32     y  float[*s]
#include <cmath>
#include <numbers>

#include "op/special.h"
#include "op/special_series.h"

namespace cleave {
namespace {

using loop::Expr;
using loop::KernelBuilder;
using loop::Op;
using namespace special;
using B = Builder;
using V = ValueId;
using G = const GradView&;

// ---- references: the power series, which has terms of one sign, and Hankel's of large x

double scaled_bessel(int order, double given) {
  const long double x = std::fabs(given), quarter = x * x / 4;
  if (std::isnan(given)) return NAN;
  long double sum = 0;
  if (x < 60) {
    long double term = order == 0 ? 1 : x / 2;
    for (int n = 1; n < 400 && term > sum * 1e-21L; ++n) {
      sum += term;
      term *= quarter / n / (n + order);
    }
    sum *= std::exp(-x);
  } else {
    long double term = 1;
    for (int n = 1; n < 20; ++n) {
      sum += term;
      const long double odd = 2 * n - 1;
      term *= -(4 * order * order - odd * odd) / n / (8 * x);
    }
    sum /= std::sqrt(2 * std::numbers::pi_v<long double> * x);
  }
  return static_cast<double>(order == 1 && given < 0 ? -sum : sum);
}
double i0e_value(double x) { return scaled_bessel(0, x); }
double i1e_value(double x) { return scaled_bessel(1, x); }
double grown(double scaled, double x) {
  if (std::isinf(x)) return std::copysign(INFINITY, scaled);
  return static_cast<double>(scaled * std::exp(std::fabs(static_cast<long double>(x))));
}
double i0_value(double x) { return grown(i0e_value(x), x); }
double i1_value(double x) { return std::isinf(x) ? x : grown(i1e_value(x), x); }

// ---- lowering

Expr scaled(KernelBuilder& k, const Expr& x, bool is_odd) {
  const Expr size = k.let(unary(Op::abs, x), "size");
  const Expr is_small = k.let(binary(Op::le, size, number(8)), "small");
  const Expr z = k.let(select(is_small, size, number(8)), "z");
  const Expr large = k.let(select(is_small, number(8), size), "large");
  Expr low = is_odd ? chebyshev(k, z * number(0.25) - number(1), i1_series) * z
                    : chebyshev(k, z * number(0.25) - number(1), i0_series);
  const Expr t = k.let(number(16) / large - number(1), "t");
  const Expr high =
      (is_odd ? chebyshev(k, t, i1_series_above_8) : chebyshev(k, t, i0_series_above_8)) *
      unary(Op::rsqrt, large);
  const Expr y = select(is_small, low, high);
  return is_odd ? select(is_below(x, number(0)), -y, y) : y;
}
Expr lower_i0e(KernelBuilder& k, const Expr& x) { return scaled(k, x, false); }
Expr lower_i1e(KernelBuilder& k, const Expr& x) { return scaled(k, x, true); }

// Where the scale overflows, in two factors.
Expr unscaled(KernelBuilder& k, const Expr& x, bool is_odd) {
  const Expr half = k.let(unary(Op::exp, unary(Op::abs, x) * number(0.5)), "half");
  const Expr y = k.let(scaled(k, x, is_odd), "y");
  const Expr is_end = is_equal(half, number(INFINITY));
  const Expr end = is_odd ? x : unary(Op::abs, x);
  return select(is_end, end * number(INFINITY), y * half * half);
}
Expr lower_i0(KernelBuilder& k, const Expr& x) { return unscaled(k, x, false); }
Expr lower_i1(KernelBuilder& k, const Expr& x) { return unscaled(k, x, true); }

// ---- gradients: I0' = I1, I1' = I0 - I1 / x, which is 1/2 at 0

// `y` / x, where that is 1/2 at 0.
V ratio(B& b, V y, V x) {
  const V is_zero = b.eq(x, 0.0);
  return b.where(is_zero, 0.5, b.div(y, b.where(is_zero, 1.0, x)));
}
V grad_i0(B& b, G op, V g) { return b.mul(g, b.call1("special_i1", {op.in(0)})); }
V grad_i1(B& b, G op, V g) {
  return b.mul(g, b.sub(b.call1("i0", {op.in(0)}), ratio(b, op.out(0), op.in(0))));
}
// Terms cancel: of narrow results they are computed again.
V grad_i0e(B& b, G op, V g) {
  const V x = op.in(0), y = b.call1("special_i0e", {x});
  return b.mul(g, b.sub(b.call1("special_i1e", {x}), b.mul(b.sign(x), y)));
}
V grad_i1e(B& b, G op, V g) {
  const V x = op.in(0), y = b.call1("special_i1e", {x});
  const V growth = b.sub(b.call1("special_i0e", {x}), ratio(b, y, x));
  return b.mul(g, b.sub(growth, b.mul(b.sign(x), y)));
}

}  // namespace

CLEAVE_OPS(special_bessel) {
  const SpecialRow rows[] = {
      {"i0", "modified Bessel function of order 0", i0_value, lower_i0, 200, grad_i0, -3, 3},
      {"special_i0e", "i0(x) * exp(-|x|)", i0e_value, lower_i0e, 190, grad_i0e, 0.2, 12},
      {"special_i1", "modified Bessel function of order 1", i1_value, lower_i1, 200, grad_i1, -3,
       3},
      {"special_i1e", "special_i1(x) * exp(-|x|)", i1e_value, lower_i1e, 190, grad_i1e, 0.2, 12},
  };
  std::vector<OpDef> ops;
  for (const SpecialRow& row : rows) ops.push_back(special_entry(row));
  return ops;
}

}  // namespace cleave
