// Conversions between element types.
//
// A small float (8 and 4 bits) is carried in f32. Rounding to one, of a = |x|:
//
//   q = 2^(max(floor(log2 a), lowest) - mantissa)     the distance of its neighbours, found by
//                                                     halving the range of exponents: exact
//   y = round(a / q) * q                              ties to even
//
// What lies beyond the largest value is that (saturate), infinity, or NaN.
#include <cmath>
#include <limits>

#include "import/onnx/rules.h"

namespace cleave::onnx {
namespace {

struct SmallFloat {
  int mantissa;
  int lowest;  // exponent of the smallest normal number
  double largest;
  bool has_infinity;
};

SmallFloat small_float(Element e) {
  switch (e) {
    case Element::f8e4m3fn: return {3, -6, 448, false};
    case Element::f8e4m3fnuz: return {3, -7, 240, false};
    case Element::f8e5m2: return {2, -14, 57344, true};
    case Element::f8e5m2fnuz: return {2, -15, 57344, false};
    default: return {1, 0, 6, false};  // f4e2m1
  }
}

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

// 2^(floor(log2 a) + shift) for a in [2^lowest, 2^(lowest + 2 first)), 2^(lowest + shift) below.
V power_below(Call& c, V a, int lowest, int first, int shift) {
  V scaled = c.mul(a, std::ldexp(1.0, -lowest));
  V power = c.op("full_like", {a}, {{"fill_value", std::ldexp(1.0, lowest + shift)}});
  for (int step = first; step >= 1; step /= 2) {
    const V above = c.op("ge", {scaled, std::ldexp(1.0, step)});
    scaled = c.where(above, c.mul(scaled, std::ldexp(1.0, -step)), scaled);
    power = c.where(above, c.mul(power, std::ldexp(1.0, step)), power);
  }
  return power;
}

V rounded(Call& c, V x, Element to, bool saturate) {
  const SmallFloat f = small_float(to);
  const V a = c.op("clamp", {c.op("abs", {x}), V{}, f.largest * 2});
  const V q = power_below(c, a, f.lowest, 16, -f.mantissa);
  V y = c.mul(c.op("round", {c.div(a, q)}), q);
  const double beyond = saturate || to == Element::f4e2m1 ? f.largest
                        : f.has_infinity                  ? infinity
                                                          : nan_value;
  y = c.where(c.op("gt", {y, f.largest}), beyond, y);
  y = c.where(c.op("lt", {x, 0}), c.op("neg", {y}), y);
  const V is_nan = c.op("isnan", {x});
  if (to == Element::f4e2m1) return c.convert(c.where(is_nan, -0.0, y), DType::f32);  // has no NaN
  return c.convert(c.where(is_nan, x, y), DType::f32);
}

// A power of two, 2^-127 to 2^127; NaN beyond.
V rounded_to_power(Call& c, V x, bool saturate, const std::string& mode) {
  const V a = c.op("abs", {c.convert(x, DType::f64)});
  const double top = std::ldexp(1.0, 127);
  V y = power_below(c, c.op("clamp", {a, V{}, top * 2}), -127, 128, 0);
  const V above = mode == "down"      ? V{}
                  : mode == "nearest" ? c.op("ge", {a, c.mul(y, 1.5)})
                                      : c.op("gt", {a, y});
  if (above.valid()) {
    // 0 and what is too small for a normal f32 round as their f32 bits do.
    const V up = c.op("logical_and", {above, c.op("gt", {a, 0})});
    y = c.where(up, c.mul(y, 2.0), y);
  }
  y = c.where(c.op("gt", {y, top}), saturate ? top : nan_value, y);
  const V special = c.op("logical_or", {c.op("isnan", {a}), c.op("isinf", {a})});
  return c.convert(c.where(special, nan_value, y), DType::f32);
}

V u64_to_float(Call& c, V x, DType to) {
  const V half = c.op("bitwise_or", {c.op("__rshift__", {x, 1}), c.op("bitwise_and", {x, 1})});
  const V safe = c.op("bitwise_and", {half, AttrValue(INT64_MAX)});
  const V large = c.mul(c.convert(safe, DType::f64), 2.0);
  return c.convert(c.where(c.op("lt", {x, 0}), large, c.convert(x, DType::f64)), to);
}

}  // namespace

V Call::cast(V x, Element from, Element to, bool saturate) {
  if (from == to || !x.valid()) return x;
  const std::optional<DType> target = carrier(to);
  if (!target) {
    builder_.fail(unsupported("a conversion to {}", name_of(to)));
    return {};
  }
  if (to == Element::boolean) return op("ne", {x, 0});
  if (is_small_float(to)) {
    const V f = from == Element::u64          ? u64_to_float(*this, x, DType::f64)
                : type(x).dtype == DType::f64 ? x
                                              : convert(x, DType::f32);
    return to == Element::f8e8m0 ? rounded_to_power(*this, f, saturate, "up")
                                 : rounded(*this, f, to, saturate);
  }
  if (is_float(to))
    return from == Element::u64 ? u64_to_float(*this, x, *target) : convert(x, *target);
  const int64_t bits = bits_of(to);
  if (bits < 8) {
    const int mask = (1 << bits) - 1, sign = 1 << (bits - 1);
    V low = op("bitwise_and", {convert(x, DType::i32), mask});
    if (!is_unsigned(to)) low = sub(op("bitwise_xor", {low, sign}), sign);
    return convert(low, *target);
  }
  if (is_float(from) && bits < 32) x = convert(x, DType::i32);  // then as integers
  return narrowed(*this, convert(x, *target), to);
}

namespace {

Result<Element> element_attribute(const Call& c, const char* name) {
  const int64_t to = c.integer(name);
  if (to <= 0 || to > last_element)
    return user_error("{} is {}, expected an element type", name, to);
  return static_cast<Element>(to);
}

Status cast_to(Call& c, Element to) {
  const bool saturate = c.integer("saturate", 1) != 0;
  if (to == Element::f8e8m0)
    c.give(0, rounded_to_power(c, c.in(0), saturate, c.text("round_mode", "up")), to);
  else
    c.give(0, c.cast(c.in(0), c.element(0), to, saturate), to);
  return {};
}

Status cast(Call& c) {
  CLEAVE_TRY(const Element to, element_attribute(c, "to"));
  return cast_to(c, to);
}
Status cast_like(Call& c) { return cast_to(c, c.element(1)); }

// Of integers alone: the bits of floats aren't looked at.
Status bit_cast(Call& c) {
  CLEAVE_TRY(const Element to, element_attribute(c, "to"));
  const Element from = c.element(0);
  if (bits_of(from) != bits_of(to))
    return user_error("{} and {} have different numbers of bits", name_of(from), name_of(to));
  if (from == to) {
    c.give(0, c.in(0), to);
    return {};
  }
  if (is_float(from) || is_float(to) || from == Element::boolean || to == Element::boolean)
    return unsupported("the bits of {} as {}", name_of(from), name_of(to));
  c.give(0, c.cast(c.in(0), from, to), to);
  return {};
}

constexpr RuleEntry entries[] = {{"Cast", cast}, {"CastLike", cast_like}, {"BitCast", bit_cast}};

}  // namespace

std::span<const RuleEntry> cast_rules() { return entries; }

}  // namespace cleave::onnx
