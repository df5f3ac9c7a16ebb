// Numbers element by element: sums, products, powers, bits, functions of one variable.
#include "import/onnx/rules.h"

namespace cleave::onnx {
namespace {

// f(x) under cleave's name, of integers cut off.
template <const char* const* name>
Status unary(Call& c) {
  c.give(0, c.convert(c.op(*name, {c.in(0)}), c.dtype(0)), c.element(0));
  return {};
}
#define CLEAVE_ONNX_UNARY(Onnx, own)       \
  constexpr const char* name_##Onnx = own; \
  Status rule_##Onnx(Call& c) { return unary<&name_##Onnx>(c); }
CLEAVE_ONNX_UNARY(Acos, "acos")
CLEAVE_ONNX_UNARY(Acosh, "acosh")
CLEAVE_ONNX_UNARY(Asin, "asin")
CLEAVE_ONNX_UNARY(Asinh, "asinh")
CLEAVE_ONNX_UNARY(Atan, "atan")
CLEAVE_ONNX_UNARY(Atanh, "atanh")
CLEAVE_ONNX_UNARY(Ceil, "ceil")
CLEAVE_ONNX_UNARY(Cos, "cos")
CLEAVE_ONNX_UNARY(Cosh, "cosh")
CLEAVE_ONNX_UNARY(Erf, "erf")
CLEAVE_ONNX_UNARY(Exp, "exp")
CLEAVE_ONNX_UNARY(Floor, "floor")
CLEAVE_ONNX_UNARY(Log, "log")
CLEAVE_ONNX_UNARY(Reciprocal, "reciprocal")
CLEAVE_ONNX_UNARY(Round, "round")
CLEAVE_ONNX_UNARY(Sign, "sign")
CLEAVE_ONNX_UNARY(Sin, "sin")
CLEAVE_ONNX_UNARY(Sinh, "sinh")
CLEAVE_ONNX_UNARY(Sqrt, "sqrt")
CLEAVE_ONNX_UNARY(Tan, "tan")
#undef CLEAVE_ONNX_UNARY

Status absolute(Call& c) {
  c.give(0, is_unsigned(c.element(0)) ? c.in(0) : c.op("abs", {c.in(0)}), c.element(0));
  return {};
}

Status negative(Call& c) {
  c.give(0, narrowed(c, c.op("neg", {c.in(0)}), c.element(0)), c.element(0));
  return {};
}

Status sum_of_two(Call& c) {
  c.give(0, narrowed(c, c.add(c.in(0), c.in(1)), c.element(0)), c.element(0));
  return {};
}

Status difference(Call& c) {
  c.give(0, narrowed(c, c.sub(c.in(0), c.in(1)), c.element(0)), c.element(0));
  return {};
}

Status product(Call& c) {
  c.give(0, multiplied(c, c.in(0), c.in(1), c.element(0)), c.element(0));
  return {};
}

Status quotient(Call& c) {
  c.give(0, divided(c, c.in(0), c.in(1), c.element(0)), c.element(0));
  return {};
}

// The type is x's, whatever the exponent's.
Status power(Call& c) {
  const Element e = c.element(0);
  const bool fraction = is_float(c.element(1));
  V x = c.in(0), y = c.in(1);
  if (is_float(e)) {
    c.give(0, c.op("pow", {x, c.convert(y, c.dtype(0))}), e);
  } else if (fraction) {
    const V p = c.op("pow", {c.convert(x, DType::f64), c.convert(y, DType::f64)});
    c.give(0, narrowed(c, c.convert(p, c.dtype(0)), e), e);
  } else {
    c.give(0, narrowed(c, c.op("pow", {x, c.convert(y, c.dtype(0))}), e), e);
  }
  return {};
}

// fmod=0: the sign of the divisor, of integers; fmod=1: that of the dividend.
Status modulo(Call& c) {
  const Element e = c.element(0);
  const bool as_c = c.integer("fmod") != 0;
  if (e == Element::u64) {
    const V x = c.in(0), y = c.in(1);
    c.give(0, c.sub(x, c.mul(divided(c, x, y, e), y)), e);
    return {};
  }
  c.give(0, c.op(as_c ? "fmod" : "remainder", {c.in(0), c.in(1)}), e);
  return {};
}

// f folded over all operands.
Status folded(Call& c, V (*f)(Call&, V, V, Element)) {
  if (c.count() == 0) return user_error("has no operand");
  V x = c.in(0);
  for (size_t k = 1; k < c.count(); ++k) x = f(c, x, c.in(k), c.element(0));
  c.give(0, x, c.element(0));
  return {};
}
Status maximum(Call& c) { return folded(c, larger_of); }
Status minimum(Call& c) { return folded(c, smaller_of); }
Status sum_of_all(Call& c) {
  return folded(c, [](Call& call, V x, V y, Element) { return call.add(x, y); });
}
Status mean_of_all(Call& c) {
  CLEAVE_CHECK(sum_of_all(c));
  if (!c.given()[0].present()) return {};
  const V sum = c.given()[0].id;
  c.give(0, c.div(sum, static_cast<double>(c.count())), c.element(0));
  return {};
}

// Bounds are attributes before opset 11, then operands; the upper one wins.
Status clip(Call& c) {
  V x = c.in(0);
  const Element e = c.element(0);
  if (c.version() < 11) {
    if (c.given("min")) x = c.op("clamp", {x, c.real("min")});
    if (c.given("max")) x = c.op("clamp", {x, V{}, c.real("max")});
  } else {
    if (c.has(1)) x = larger_of(c, x, c.in(1), e);
    if (c.has(2)) x = smaller_of(c, x, c.in(2), e);
  }
  c.give(0, x, e);
  return {};
}

// ---- bits

template <int which>
Status bitwise(Call& c) {
  static constexpr const char* names[] = {"bitwise_and", "bitwise_or", "bitwise_xor"};
  c.give(0, c.op(names[which], {c.in(0), c.in(1)}), c.element(0));
  return {};
}

Status bitwise_not(Call& c) {
  c.give(0, narrowed(c, c.op("bitwise_not", {c.in(0)}), c.element(0)), c.element(0));
  return {};
}

// x * 2^y, or x / 2^y without a sign, in i64. A shift by all of the bits gives 0.
Status bit_shift(Call& c) {
  const Element e = c.element(0);
  const int64_t bits = bits_of(e);
  const V x = c.convert(c.in(0), DType::i64), y = c.convert(c.in(1), DType::i64);
  const V inside = c.op("lt", {y, static_cast<int>(bits)});
  const V by = c.where(inside, y, AttrValue(int64_t{0}));
  V moved;
  if (c.text("direction") == "LEFT") {
    moved = c.mul(x, c.op("pow", {2, by}));
  } else {
    const V first = c.op("bitwise_and", {c.op("__rshift__", {x, 1}), AttrValue(INT64_MAX)});
    const V rest = c.op("__rshift__", {first, c.op("clamp", {c.sub(by, 1), 0})});
    moved = c.where(c.op("eq", {by, 0}), x, rest);
  }
  moved = narrowed(c, c.where(inside, moved, AttrValue(int64_t{0})), e);
  c.give(0, c.convert(moved, c.dtype(0)), e);
  return {};
}

constexpr RuleEntry entries[] = {{"Abs", absolute},
                                 {"Acos", rule_Acos},
                                 {"Acosh", rule_Acosh},
                                 {"Asin", rule_Asin},
                                 {"Asinh", rule_Asinh},
                                 {"Atan", rule_Atan},
                                 {"Atanh", rule_Atanh},
                                 {"Ceil", rule_Ceil},
                                 {"Cos", rule_Cos},
                                 {"Cosh", rule_Cosh},
                                 {"Erf", rule_Erf},
                                 {"Exp", rule_Exp},
                                 {"Floor", rule_Floor},
                                 {"Log", rule_Log},
                                 {"Reciprocal", rule_Reciprocal},
                                 {"Round", rule_Round},
                                 {"Sign", rule_Sign},
                                 {"Sin", rule_Sin},
                                 {"Sinh", rule_Sinh},
                                 {"Sqrt", rule_Sqrt},
                                 {"Tan", rule_Tan},
                                 {"Neg", negative},
                                 {"Add", sum_of_two},
                                 {"Sub", difference},
                                 {"Mul", product},
                                 {"Div", quotient},
                                 {"Pow", power},
                                 {"Mod", modulo},
                                 {"Max", maximum},
                                 {"Min", minimum},
                                 {"Sum", sum_of_all},
                                 {"Mean", mean_of_all},
                                 {"Clip", clip},
                                 {"BitwiseAnd", bitwise<0>},
                                 {"BitwiseOr", bitwise<1>},
                                 {"BitwiseXor", bitwise<2>},
                                 {"BitwiseNot", bitwise_not},
                                 {"BitShift", bit_shift}};

}  // namespace

std::span<const RuleEntry> arithmetic_rules() { return entries; }

}  // namespace cleave::onnx
