// The gamma function's logarithm and its derivatives.
//
//   lgamma(self)          log(|gamma(x)|); inf at 0, -1, -2, ...
//   digamma(self)         its slope; at 0 the infinity against the zero's sign, NaN at -1, -2, ...
//   polygamma(n, self)    the n-th derivative of digamma; infinite at 0, -1, -2, ...
//
//   self  [*s]  any dtype; integers and bool are converted to f32     y  float[*s]
//   (C1) n is in [0, 32]
//
// Above 0 by series of Stirling and Euler-Maclaurin some steps above x, below by reflection.
#include <cmath>
#include <numbers>

#include "op/cost.h"
#include "op/pointwise_reference.h"
#include "op/sample_sets.h"
#include "op/special.h"
#include "op/wide_grad.h"

namespace cleave {
namespace {

using loop::Expr;
using loop::KernelBuilder;
using loop::Op;
using namespace special;
using B = Builder;
using V = ValueId;
using G = const GradView&;

constexpr double pi = std::numbers::pi;
constexpr int64_t most_derivatives = 32;

// ---- references, in long double, by steps up to where the series converges at once

constexpr long double far = 40;

double polygamma_value(int64_t n, double given) {
  const bool is_pole = given <= 0 && given == std::floor(given);
  if (n == 0 && is_pole) return given == 0 ? std::copysign(INFINITY, -given) : NAN;
  const double sign = n % 2 == 0 ? -1 : 1;
  if (is_pole && std::isfinite(given)) return sign * INFINITY;
  if (std::isnan(given) || given < -1e6) return NAN;
  long double x = given, sum = 0;
  const auto power = [&](long double at) { return std::pow(at, -static_cast<long double>(n + 1)); };
  for (; x < far + static_cast<long double>(n); x += 1) sum += power(x);
  // B[2j] / (2j)!
  static constexpr long double factors[] = {1.0L / 12, -1.0L / 720, 1.0L / 30240, -1.0L / 1209600,
                                            1.0L / 47900160};
  long double term = static_cast<long double>(n + 1) * power(x) / x;
  long double series = power(x) / 2;
  for (int j = 0; j < 5; ++j) {
    series += factors[j] * term;
    term *= static_cast<long double>((n + 2 * j + 2) * (n + 2 * j + 3)) / (x * x);
  }
  if (n == 0) {
    const long double fast = std::isinf(x) ? x : std::log(x) - series;
    return static_cast<double>(fast - sum);
  }
  if (std::isinf(x)) return static_cast<double>(sign * 0);
  sum += series + std::pow(x, -static_cast<long double>(n)) / static_cast<long double>(n);
  return static_cast<double>(sign * std::tgamma(static_cast<long double>(n + 1)) * sum);
}
double digamma_value(double x) { return polygamma_value(0, x); }
double lgamma_value(double x) { return std::lgamma(x); }

// ---- lowering

// How far x is from the nearest whole number; 1/2 where that is 0, which `at_pole` says.
struct Distance {
  Expr value, at_pole;
};
Distance distance_of(KernelBuilder& k, const Expr& x) {
  const Expr at_pole = k.let(is_equal(x, unary(Op::floor, x)), "pole");
  const Expr away = x - unary(Op::floor, x + number(0.5));
  return {k.let(select(at_pole, number(0.5), away), "away"), at_pole};
}

Expr lower_lgamma(KernelBuilder& k, const Expr& x) {
  constexpr double stirling[] = {1.0 / 156,  -691.0 / 360360, 1.0 / 1188, -1.0 / 1680,
                                 1.0 / 1260, -1.0 / 360,      1.0 / 12};
  const Expr reflects = k.let(is_below(x, number(0.5)), "reflects");
  const Expr w = k.let(select(reflects, number(1) - x, x), "w");
  const Expr steps = k.let(is_below(w, number(8)), "steps");
  Expr product = w;
  for (int n = 1; n < 8; ++n) product = product * (w + number(n));
  const Expr z = k.let(select(steps, w + number(8), w), "z");
  const Expr inverse = k.let(number(1) / z, "inverse");
  const Expr series = polynomial(k, k.let(inverse * inverse), stirling) * inverse;
  const Expr main = (z - number(0.5)) * unary(Op::log, z) - z;
  const Expr less = unary(Op::log, select(steps, product, number(1)));
  const Expr above = k.let(main + number(std::log(2 * pi) / 2) + series - less, "above");
  const Distance to_pole = distance_of(k, x);
  const Expr below = number(std::log(pi)) -
                     unary(Op::log, unary(Op::abs, unary(Op::sin, to_pole.value * number(pi)))) -
                     above;
  const Expr y = select(reflects, select(to_pole.at_pole, number(INFINITY), below), above);
  return select(is_equal(unary(Op::abs, x), number(INFINITY)), number(INFINITY), y);
}

Expr lower_digamma(KernelBuilder& k, const Expr& x) {
  constexpr double series[] = {-1.0 / 12,  691.0 / 32760, -1.0 / 132, 1.0 / 240,
                               -1.0 / 252, 1.0 / 120,     -1.0 / 12,  0};
  const Expr reflects = k.let(is_below(x, number(0.5)), "reflects");
  const Expr w = k.let(select(reflects, number(1) - x, x), "w");
  const Expr z = k.let(w + number(8), "z"), inverse = k.let(number(1) / z, "inverse");
  Expr y =
      unary(Op::log, z) - inverse * number(0.5) + polynomial(k, k.let(inverse * inverse), series);
  for (int n = 0; n < 8; ++n) y = y - number(1) / (w + number(n));
  const Distance to_pole = distance_of(k, x);
  const Expr turned = number(pi) / unary(Op::tan, to_pole.value * number(pi));
  const Expr below = select(to_pole.at_pole, number(NAN), y - turned);
  return select(is_equal(x, number(0)), number(-1) / x, select(reflects, below, y));
}

Expr whole_power(KernelBuilder& k, const Expr& x, int64_t n) {
  if (n == 1) return x;
  const Expr half = whole_power(k, x, n / 2), square = k.let(half * half, "square");
  return n % 2 == 0 ? square : square * x;
}

// The n-th derivative of cot(pi x) by powers of c = cot(pi x), the highest first: each one is
// -pi (1 + c^2) times the slope by c of the one before.
std::vector<double> derivative_of_cotangent(int64_t n) {
  std::vector<double> p = {0, 1};
  for (int64_t i = 0; i < n; ++i) {
    std::vector<double> next(p.size() + 1, 0.0);
    for (size_t e = 1; e < p.size(); ++e) {
      const double slope = -pi * static_cast<double>(e) * p[e];
      next[e - 1] += slope;
      next[e + 1] += slope;
    }
    p = next;
  }
  return {p.rbegin(), p.rend()};
}

Expr lower_polygamma(KernelBuilder& k, const OpView& op, const Expr& x) {
  const int64_t n = op.int_attr("n");
  if (n == 0) return lower_digamma(k, x);
  const Expr reflects = k.let(is_below(x, number(0)), "reflects");
  const Expr w = k.let(select(reflects, number(1) - x, x), "w");
  const int64_t steps = 12 + n;
  const auto inverse_of = [&](const Expr& at) { return k.let(number(1) / at, "inverse"); };
  Expr sum = number(0);
  for (int64_t i = 0; i < steps; ++i)
    sum = k.let(sum + whole_power(k, inverse_of(w + number(static_cast<double>(i))), n + 1), "sum");
  const Expr inverse = inverse_of(w + number(static_cast<double>(steps)));
  const Expr power = k.let(whole_power(k, inverse, n), "power");
  // factors[j] = B[2j] / (2j)! * (n + 1) .. (n + 2j - 1), of inverse^(n + 2j)
  constexpr double bernoulli[] = {1.0 / 12,       -1.0 / 720,     1.0 / 30240,
                                  -1.0 / 1209600, 1.0 / 47900160, -691.0 / 1307674368000};
  std::vector<double> factors;
  double rising = static_cast<double>(n + 1);
  for (size_t j = 0; j < std::size(bernoulli); ++j) {
    factors.insert(factors.begin(), bernoulli[j] * rising);
    const auto at = static_cast<double>(n) + 2.0 * static_cast<double>(j);
    rising *= (at + 2) * (at + 3);
  }
  const Expr square = k.let(inverse * inverse, "square");
  const Expr series = polynomial(k, square, factors) * square + inverse * number(0.5) +
                      number(1 / static_cast<double>(n));
  const double scale = (n % 2 == 0 ? -1 : 1) * std::tgamma(static_cast<double>(n + 1));
  const Expr above = k.let((sum + power * series) * number(scale), "above");
  const Distance to_pole = distance_of(k, x);
  const Expr cotangent = k.let(number(1) / unary(Op::tan, to_pole.value * number(pi)), "cot");
  const Expr turned = polynomial(k, cotangent, derivative_of_cotangent(n)) * number(pi);
  const Expr below = above * number(n % 2 == 0 ? 1 : -1) - turned;
  const Expr is_pole = binary(Op::logical_and, to_pole.at_pole, binary(Op::le, x, number(0)));
  const Expr y = select(is_pole, number(scale * INFINITY), select(reflects, below, above));
  return select(is_equal(x, number(-INFINITY)), number(NAN), y);
}

// ---- gradients

V polygamma(B& b, int64_t n, V x) { return b.call1("polygamma", {x}, {{"n", n}}); }
V grad_lgamma(B& b, G op, V g) { return b.mul(g, b.call1("digamma", {op.in(0)})); }
V grad_digamma(B& b, G op, V g) { return b.mul(g, polygamma(b, 1, op.in(0))); }
V grad_polygamma(B& b, G op, V g) { return b.mul(g, polygamma(b, op.int_attr("n") + 1, op.in(0))); }

OpDef polygamma_entry() {
  OpDef op = special_entry({"polygamma", "the n-th derivative of digamma", digamma_value,
                            lower_digamma, 200, grad_polygamma, 0.5, 6});
  op.signature = "(int n, Tensor self) -> Tensor";
  op.infer = [](const OpView& call) -> Result<Types> {
    const int64_t n = call.int_attr("n");
    if (n < 0 || n > most_derivatives)
      return call.broken("C1", "n is {}, expected a number in [0, {}]", n, most_derivatives);
    return like_self(call, to_floating(call.in_type(0).dtype));
  };
  op.reference = [](const OpView& call, std::span<const Array* const> in) {
    const int64_t n = call.int_attr("n");
    return reference_unary(call, in, [n](double x) { return polygamma_value(n, x); }, nullptr);
  };
  op.lower = lower_special(lower_polygamma);
  op.samples = []() -> Samples {
    Samples out;
    const std::vector<double> x = {0.25, 0.75, 1.5, 3.5, -0.375, -2.25};
    for (int64_t n = 0; n <= 4; ++n)
      for (const DType t : {DType::f64, DType::f32})
        out.push_back({{sample(t, {2, 3}).with(x)}, {{"n", n}}});
    for (const DType t : floating_dtypes)
      out.push_back({{sample(t, {3, 7}).range(0.5, 4)}, {{"n", 1}}});
    out.push_back({{f64({7}).with({NAN, INFINITY, -INFINITY, 0, -1, 40, 1e-3})}, {{"n", 1}}});
    out.push_back({{f64({6}).with({NAN, INFINITY, -INFINITY, 0, -3, 30})}, {{"n", 2}}});
    out.push_back({{f64({3}).range(1, 9)}, {{"n", 12}}});
    out.push_back({{f32({}).range(1, 2)}, {{"n", 2}}});
    out.push_back({{f32({0, 2})}, {{"n", 1}}});
    out.push_back({{i64({3}).with({1, 2, 3})}, {{"n", 1}}});
    return out;
  };
  op.rejects = []() -> Rejects {
    return {
        {"C1", {{f32({2})}, {{"n", -1}}}, "polygamma: C1: n is -1, expected a number in [0, 32]"},
        {"C1", {{f32({2})}, {{"n", 33}}}, "polygamma: C1: n is 33, expected a number in [0, 32]"}};
  };
  return op;
}

}  // namespace

CLEAVE_OPS(special_gamma) {
  std::vector<OpDef> ops;
  ops.push_back(special_entry({"lgamma", "the logarithm of the gamma function's size", lgamma_value,
                               lower_lgamma, 100, grad_lgamma, 2.5, 6}));
  ops.push_back(special_entry(
      {"digamma", "the slope of lgamma", digamma_value, lower_digamma, 100, grad_digamma, 2, 6}));
  ops.push_back(polygamma_entry());
  return ops;
}

}  // namespace cleave
