// Sums, products, powers, extrema and selections of operands that broadcast.
#include <cmath>
#include <numbers>

#include "export/onnx/rules.h"
#include "op/promotion.h"

namespace cleave::to_onnx {
namespace {

DType meet_of(Call& c) { return promoted(c.op(), {0, 1}); }

// alpha * x
V scaled(Call& c, const V& x) {
  if (c.op().float_attr("alpha") == 1) return x;
  return c.node("Mul", {x, c.number(c.op().attr("alpha"), x.dtype)});
}

Status add(Call& c) {
  const DType meet = meet_of(c);
  c.give(0, c.node("Add", {c.operand(0, meet), scaled(c, c.operand(1, meet))}));
  return {};
}
Status sub(Call& c) {
  const DType meet = meet_of(c);
  c.give(0, c.node("Sub", {c.operand(0, meet), scaled(c, c.operand(1, meet))}));
  return {};
}
Status rsub(Call& c) {
  const DType meet = meet_of(c);
  c.give(0, c.node("Sub", {c.operand(1, meet), scaled(c, c.operand(0, meet))}));
  return {};
}
Status mul(Call& c) {
  const DType meet = meet_of(c);
  c.give(0, c.node("Mul", {c.operand(0, meet), c.operand(1, meet)}));
  return {};
}

// ---- powers

// x multiplied by itself, by squares.
V repeated(Call& c, V x, int64_t times) {
  V y;
  for (; times > 0; times /= 2) {
    if (times % 2 != 0) y = y.name.empty() ? x : c.node("Mul", {y, x});
    if (times > 1) x = c.node("Mul", {x, x});
  }
  return y;
}

// A negative exponent gives 0, but for the bases 1 and -1.
V integer_power(Call& c, const V& base, const V& exponent) {
  const V zero = c.number(0, base.dtype), one = c.number(1, base.dtype),
          two = c.number(2, base.dtype);
  const V power = c.node("Pow", {base, c.node("Max", {exponent, zero})});
  const V odd = c.compare("Equal", c.node("Mod", {exponent, two}), one);
  const V minus_one = c.compare("Equal", base, c.number(-1, base.dtype));
  V below = c.where(c.compare("Equal", base, one), one, zero);
  below = c.where(minus_one, c.where(odd, base, one), below);
  return c.where(c.compare("Less", exponent, zero), below, power);
}

Status pow(Call& c) {
  const DType meet = meet_of(c);
  const V base = c.operand(0, meet);
  if (c.op().is_number(1)) {
    const double e = c.op().number(1).as_double();
    const bool small = e == std::floor(e) && e >= 1 && (!is_floating(meet) || e <= 3);
    if (small) {
      c.give(0, repeated(c, base, static_cast<int64_t>(e)));
      return {};
    }
    if (e == 0.5) {
      c.give(0, c.node("Sqrt", {base}));
      return {};
    }
  }
  const V exponent = c.operand(1, meet);
  c.give(0, is_floating(meet) ? c.node("Pow", {base, exponent}) : integer_power(c, base, exponent));
  return {};
}

// ---- extrema: NaN where an operand is, as in numpy, whose words ONNX's reference has for them

Status extremum(Call& c, const char* onnx) {
  const DType meet = meet_of(c);
  c.give(0, c.node(onnx, {c.operand(0, meet), c.operand(1, meet)}));
  return {};
}
Status maximum(Call& c) { return extremum(c, "Max"); }
Status minimum(Call& c) { return extremum(c, "Min"); }

// Clip takes bounds of no dims, and NaN isn't one.
bool is_clip(const Call& c) {
  for (const int k : {1, 2})
    if (c.has(k) || (c.op().is_number(k) && std::isnan(c.op().number(k).as_double()))) return false;
  return true;
}

Status clamp(Call& c) {
  const DType meet = promoted(c.op(), {0, 1, 2});
  const auto bound = [&](int k) {
    return c.has(k) || c.op().is_number(k) ? c.operand(k, meet) : V{};
  };
  V y = c.operand(0, meet);
  const V low = bound(1), high = bound(2);
  if (is_clip(c)) {
    c.give(0, c.node("Clip", {y, low, high}));
    return {};
  }
  if (!low.name.empty()) y = c.node("Max", {y, low});
  if (!high.name.empty()) y = c.node("Min", {y, high});
  c.give(0, y);
  return {};
}

// ---- selections

Status where(Call& c) {
  const DType meet = promoted(c.op(), {1, 2});
  c.give(0, c.where(c.in(0), c.operand(1, meet), c.operand(2, meet)));
  return {};
}

// The angle of (x, y): atan(y / x), moved by pi to the other half plane; on the axes where the
// quotient has no sign or no value, by hand. Zeros have signs: 1 / -0 is below 0.
Status atan2(Call& c) {
  const DType meet = to_floating(meet_of(c));
  const V y = c.operand(0, meet), x = c.operand(1, meet);
  const auto number = [&](double v) { return c.number(v, y.dtype); };
  const auto below = [&](const V& v) {
    const V inverse = c.node("Reciprocal", {v});
    return c.node("Or", {c.compare("Less", v, number(0)), c.compare("Less", inverse, number(0))});
  };
  constexpr double pi = std::numbers::pi;
  const V down = below(y), left = below(x);
  const V plain = c.node("Atan", {c.node("Div", {y, x})});
  const V half = c.where(down, number(-pi), number(pi));
  V angle = c.where(c.compare("Less", x, number(0)), c.node("Add", {plain, half}), plain);
  // y is 0: the axis that x points to.
  const V flat = c.where(left, half, y);
  angle = c.where(c.compare("Equal", y, number(0)), flat, angle);
  // x is 0 and y isn't: the axis that y points to.
  const V upright = c.where(down, number(-pi / 2), number(pi / 2));
  const V on_axis = c.node(
      "And", {c.compare("Equal", x, number(0)), c.node("Not", {c.compare("Equal", y, number(0))})});
  angle = c.where(on_axis, upright, angle);
  // Both infinite: an odd multiple of pi / 4.
  const V diagonal = c.where(left, number(3 * pi / 4), number(pi / 4));
  const V both =
      c.node("And", {c.node("IsInf", {x}, DType::boolean), c.node("IsInf", {y}, DType::boolean)});
  const V corner = c.where(down, c.node("Neg", {diagonal}), diagonal);
  angle = c.where(both, corner, angle);
  c.give(0, c.where(c.node("Or", {c.is_nan(x), c.is_nan(y)}), c.nan_of(y.dtype), angle));
  return {};
}

constexpr RuleEntry rules[] = {{"add", add},         {"sub", sub},     {"rsub", rsub},
                               {"mul", mul},         {"pow", pow},     {"maximum", maximum},
                               {"minimum", minimum}, {"clamp", clamp}, {"where", where},
                               {"atan2", atan2}};

}  // namespace

std::span<const RuleEntry> arithmetic_rules() { return rules; }

}  // namespace cleave::to_onnx
