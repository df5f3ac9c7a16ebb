// Complex numbers one by one.
#include <cmath>

#include "import/exported/complex_rules.h"

namespace cleave::exported {
namespace {

using V = ValueId;

Complex self_of(Call& c) { return complex_argument(c, "self"); }
Values one(Call& c, const Complex& z) { return {joined(c, z)}; }

template <Complex (*f)(Call&, const Complex&)>
Values of_one(Call& c) {
  return one(c, f(c, self_of(c)));
}
template <Complex (*f)(Call&, const Complex&, const Complex&)>
Values of_two(Call& c) {
  if (c.has("rounding_mode")) return {c.fail("a complex quotient that is rounded")};
  return one(c, f(c, self_of(c), complex_argument(c, "other")));
}

// self + alpha other or self - alpha other; reversed, other - alpha self.
Values sum(Call& c, bool subtracts, bool reversed = false) {
  Complex a = self_of(c), b = complex_argument(c, "other");
  if (reversed) std::swap(a, b);
  if (c.has("alpha")) b = mul(c, b, complex_argument(c, "alpha"));
  return one(c, add(c, a, subtracts ? negative(c, b) : b));
}

Values conjugated(Call& c) {
  c.share_arguments();
  return one(c, conjugate(c, self_of(c)));
}

Values negated_view(Call& c) {
  c.share_arguments();
  return one(c, negative(c, self_of(c)));
}

Complex sign(Call& c, const Complex& z) {
  const V size = magnitude(c, z);
  return div(c, z, {c.op("where", {c.op("eq", {size, 0}), 1.0, size})});
}

// To another base than e, and of another base.
Values logarithm(Call& c, double base) {
  return one(c, mul(c, log(c, self_of(c)), complex_number(c, 1 / std::log(base))));
}
Values power_of_two(Call& c) {
  return one(c, exp(c, mul(c, self_of(c), complex_number(c, std::log(2.0)))));
}

Complex square(Call& c, const Complex& z) { return mul(c, z, z); }
Complex reciprocal_root(Call& c, const Complex& z) { return reciprocal(c, sqrt(c, z)); }

// sin(x + iy) = sin x cosh y + i cos x sinh y, and its like.
struct Factors {
  V sin, cos, sinh, cosh;
};
Factors factors(Call& c, V circular, V hyperbolic) {
  return {c.op("sin", {circular}), c.op("cos", {circular}), c.op("sinh", {hyperbolic}),
          c.op("cosh", {hyperbolic})};
}
Complex sine(Call& c, const Complex& z) {
  if (z.is_real()) return {c.op("sin", {z.re})};
  const Factors f = factors(c, z.re, z.im);
  return {c.op("mul", {f.sin, f.cosh}), c.op("mul", {f.cos, f.sinh})};
}
Complex cosine(Call& c, const Complex& z) {
  if (z.is_real()) return {c.op("cos", {z.re})};
  const Factors f = factors(c, z.re, z.im);
  return {c.op("mul", {f.cos, f.cosh}), c.op("neg", {c.op("mul", {f.sin, f.sinh})})};
}
Complex hyperbolic_sine(Call& c, const Complex& z) {
  if (z.is_real()) return {c.op("sinh", {z.re})};
  const Factors f = factors(c, z.im, z.re);
  return {c.op("mul", {f.sinh, f.cos}), c.op("mul", {f.cosh, f.sin})};
}
Complex hyperbolic_cosine(Call& c, const Complex& z) {
  if (z.is_real()) return {c.op("cosh", {z.re})};
  const Factors f = factors(c, z.im, z.re);
  return {c.op("mul", {f.cosh, f.cos}), c.op("mul", {f.sinh, f.sin})};
}
// (t + i s c (1 - t^2)) / (c^2 + t^2 s^2) for t = tanh x, s = sin y, c = cos y.
Complex hyperbolic_tangent(Call& c, const Complex& z) {
  const V t = c.op("tanh", {z.re});
  if (z.is_real()) return {t};
  const V sin = c.op("sin", {z.im}), cos = c.op("cos", {z.im}), ts = c.op("mul", {t, sin});
  const V below = c.op("add", {c.op("mul", {cos, cos}), c.op("mul", {ts, ts})});
  const V rest = c.op("rsub", {c.op("mul", {t, t}), 1.0});
  const V im = c.op("mul", {c.op("mul", {sin, cos}), rest});
  return {c.op("div", {t, below}), c.op("div", {im, below})};
}
Complex sigmoid(Call& c, const Complex& z) {
  const Complex e = exp(c, negative(c, z));
  return reciprocal(c, {c.op("add", {e.re, 1.0}), e.im});
}

Values power_rule(Call& c) {
  if (const auto number = number_of(c, "exponent")) return one(c, power(c, self_of(c), *number));
  const Complex p = complex_argument(c, "exponent");
  if (c.has_tensor("self")) return one(c, power(c, self_of(c), p));
  const auto base = number_of(c, "self");
  if (!base || *base == std::complex<double>(0)) return {c.fail("a power of 0")};
  const std::complex<double> l = std::log(*base);
  return one(c, exp(c, mul(c, p, complex_number(c, l))));
}

// Both parts of both are equal.
V same(Call& c) {
  const Complex a = self_of(c), b = complex_argument(c, "other");
  const auto imaginary = [&](const Complex& z) {
    return z.is_real() ? c.op("zeros_like", {z.re}) : z.im;
  };
  return c.op("logical_and", {c.op("eq", {a.re, b.re}), c.op("eq", {imaginary(a), imaginary(b)})});
}

// Whether a predicate holds of some part, or of both.
Values of_parts(Call& c, const char* predicate, const char* both) {
  const Complex z = self_of(c);
  const auto holds = [&](V x) {
    if (std::string_view(predicate) == "isinf") return c.op("eq", {c.op("abs", {x}), INFINITY});
    if (std::string_view(predicate) == "isfinite") return c.op("lt", {c.op("abs", {x}), INFINITY});
    return c.op(predicate, {x});
  };
  return {c.op(both, {holds(z.re), holds(z.im)})};
}

Values make_complex(Call& c) {
  return {joined(c, {complex_argument(c, "real").re, complex_argument(c, "imag").re})};
}
Values make_polar(Call& c) {
  return {joined(c, polar(c, complex_argument(c, "abs").re, complex_argument(c, "angle").re))};
}

Values where(Call& c) {
  const V mask = c.op("unsqueeze", {c.tensor("condition")}, {{"dim", -1}});
  return {c.op("where", {mask, parts_of(c, "self"), parts_of(c, "other")})};
}
Values masked_fill(Call& c) {
  const V mask = c.op("unsqueeze", {c.tensor("mask")}, {{"dim", -1}});
  return {c.op("where", {mask, parts_of(c, "value"), parts_of(c, "self")})};
}

Values addc(Call& c, bool divides) {
  const Complex a = complex_argument(c, "tensor1"), b = complex_argument(c, "tensor2");
  Complex y = divides ? div(c, a, b) : mul(c, a, b);
  if (c.has("value")) y = mul(c, y, complex_argument(c, "value"));
  return one(c, add(c, self_of(c), y));
}

Values lerp(Call& c) {
  const Complex x = self_of(c), end = complex_argument(c, "end");
  return one(c, add(c, x, mul(c, add(c, end, negative(c, x)), complex_argument(c, "weight"))));
}

Values dropout(Call& c) {
  if (c.flag("train", true) && c.floating("p", 0.5) != 0)
    return {c.fail("dropout of complex numbers")};
  return {c.tensor("input")};
}

}  // namespace

std::span<const RuleRow> complex_pointwise_rules() {
  static constexpr RuleRow rows[] = {
      {"complex", make_complex},
      {"polar", make_polar},
      {"_conj", conjugated},
      {"conj", conjugated},
      {"_conj_physical", of_one<conjugate>},
      {"conj_physical", of_one<conjugate>},
      {"_neg_view", negated_view},
      {"abs", [](Call& c) -> Values { return {magnitude(c, self_of(c))}; }},
      {"absolute", [](Call& c) -> Values { return {magnitude(c, self_of(c))}; }},
      {"angle", [](Call& c) -> Values { return {angle(c, self_of(c))}; }},
      {"sgn", of_one<sign>},
      {"neg", of_one<negative>},
      {"negative", of_one<negative>},
      {"positive", [](Call& c) -> Values { return {c.tensor("self")}; }},
      {"add", [](Call& c) { return sum(c, false); }},
      {"sub", [](Call& c) { return sum(c, true); }},
      {"subtract", [](Call& c) { return sum(c, true); }},
      {"rsub", [](Call& c) { return sum(c, true, true); }},
      {"mul", of_two<mul>},
      {"multiply", of_two<mul>},
      {"div", of_two<div>},
      {"divide", of_two<div>},
      {"true_divide", of_two<div>},
      {"addcmul", [](Call& c) { return addc(c, false); }},
      {"addcdiv", [](Call& c) { return addc(c, true); }},
      {"lerp", lerp},
      {"reciprocal", of_one<reciprocal>},
      {"square", of_one<square>},
      {"pow", power_rule},
      {"exp", of_one<exp>},
      {"log", of_one<log>},
      {"log2", [](Call& c) { return logarithm(c, 2); }},
      {"log10", [](Call& c) { return logarithm(c, 10); }},
      {"exp2", power_of_two},
      {"sqrt", of_one<sqrt>},
      {"rsqrt", of_one<reciprocal_root>},
      {"sin", of_one<sine>},
      {"cos", of_one<cosine>},
      {"sinh", of_one<hyperbolic_sine>},
      {"cosh", of_one<hyperbolic_cosine>},
      {"tanh", of_one<hyperbolic_tangent>},
      {"sigmoid", of_one<sigmoid>},
      {"eq", [](Call& c) -> Values { return {same(c)}; }},
      {"ne", [](Call& c) -> Values { return {c.op("logical_not", {same(c)})}; }},
      {"not_equal", [](Call& c) -> Values { return {c.op("logical_not", {same(c)})}; }},
      {"isnan", [](Call& c) { return of_parts(c, "isnan", "logical_or"); }},
      {"isinf", [](Call& c) { return of_parts(c, "isinf", "logical_or"); }},
      {"isfinite", [](Call& c) { return of_parts(c, "isfinite", "logical_and"); }},
      {"where", where},
      {"masked_fill", masked_fill},
      {"dropout", dropout},
  };
  return rows;
}

}  // namespace cleave::exported
