// Quotients, remainders and shifts.
#include "export/onnx/rules.h"
#include "op/promotion.h"

namespace cleave::to_onnx {
namespace {

struct Pair {
  V a, b;
};

Pair operands(Call& c) {
  const DType meet = promoted(c.op(), {0, 1});
  return {c.operand(0, meet), c.operand(1, meet)};
}

// What the sign of a remainder says: it isn't that of the divisor.
V differs_in_sign(Call& c, const V& rest, const V& b) {
  const V zero = c.number(0, b.dtype);
  const V signs = c.node("Xor", {c.compare("Less", rest, zero), c.compare("Less", b, zero)});
  return c.node("And", {c.node("Not", {c.compare("Equal", rest, zero)}), signs});
}

// A divisor of -1 as 1: a remainder by either is 0, and that of the least integer by -1 traps.
V without_minus_one(Call& c, const V& b) {
  return c.where(c.compare("Equal", b, c.number(-1, b.dtype)), c.number(1, b.dtype), b);
}

V float_remainder(Call& c, const V& a, const V& b) {
  return c.node("Mod", {a, b}, {integer("fmod", 1)});
}

// The quotient less its exact remainder, as PyTorch's div_floor_floating: a / b may round up to a
// whole number.
V float_floor(Call& c, const V& a, const V& b) {
  const V zero = c.number(0, a.dtype), one = c.number(1, a.dtype);
  const V rest = float_remainder(c, a, b), plain = c.node("Div", {a, b});
  V quotient = c.node("Div", {c.node("Sub", {a, rest}), b});
  quotient = c.where(differs_in_sign(c, rest, b), c.node("Sub", {quotient, one}), quotient);
  const V whole = c.node("Floor", {quotient});
  const V up = c.compare("Greater", c.node("Sub", {quotient, whole}), c.number(0.5, a.dtype));
  V y = c.where(up, c.node("Add", {whole, one}), whole);
  y = c.where(c.compare("Equal", quotient, zero), c.node("Mul", {plain, zero}), y);
  return c.where(c.compare("Equal", b, zero), plain, y);
}

V quotient_toward_zero(Call& c, const V& a, const V& b) {
  const V minus_one = c.compare("Equal", b, c.number(-1, b.dtype));
  return c.where(minus_one, c.node("Neg", {a}), c.node("Div", {a, without_minus_one(c, b)}));
}

Status div(Call& c) {
  if (!c.op().given("rounding_mode")) {
    const DType meet = to_floating(promoted(c.op(), {0, 1}));
    c.give(0, c.node("Div", {c.operand(0, meet), c.operand(1, meet)}));
    return {};
  }
  const bool down = c.op().str_attr("rounding_mode") == "floor";
  const auto [a, b] = operands(c);
  if (is_floating(a.dtype))
    c.give(0, down ? float_floor(c, a, b) : truncated(c, c.node("Div", {a, b})));
  else
    c.give(0, down ? floor_quotient(c, a, b) : quotient_toward_zero(c, a, b));
  return {};
}

Status fmod(Call& c) {
  const auto [a, b] = operands(c);
  c.give(0, float_remainder(c, a, is_floating(b.dtype) ? b : without_minus_one(c, b)));
  return {};
}

Status remainder(Call& c) {
  const auto [a, b] = operands(c);
  if (!is_floating(a.dtype)) {
    c.give(0, c.node("Mod", {a, without_minus_one(c, b)}));
    return {};
  }
  const V rest = float_remainder(c, a, b);
  c.give(0, c.where(differs_in_sign(c, rest, b), c.node("Add", {rest, b}), rest));
  return {};
}

// ONNX shifts unsigned integers alone: a / 2^b, rounded down, in i64. A shift that is too large, or
// below 0, leaves the sign.
Status shift(Call& c) {
  const DType meet = promoted(c.op(), {0, 1});
  const V a = c.cast(c.operand(0, meet), DType::i64), b = c.cast(c.operand(1, meet), DType::i64);
  const auto number = [&](int64_t v) { return c.model().integer_number(v); };
  Ints powers;
  for (int k = 0; k < 63; ++k) powers.push_back(int64_t{1} << k);
  const V beyond =
      c.node("Or", {c.compare("Less", b, number(0)), c.compare("Greater", b, number(62))});
  const V by = c.gather(c.model().list(powers), c.where(beyond, number(0), b), 0);
  const V whole = c.node("Sub", {a, c.node("Mod", {a, by})});
  const V sign = c.where(c.compare("Less", a, number(0)), number(-1), number(0));
  c.give(0, c.where(beyond, sign, c.node("Div", {whole, by})));
  return {};
}

constexpr RuleEntry rules[] = {
    {"div", div}, {"fmod", fmod}, {"remainder", remainder}, {"__rshift__", shift}};

}  // namespace

std::span<const RuleEntry> quotient_rules() { return rules; }

}  // namespace cleave::to_onnx
