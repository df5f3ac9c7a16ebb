// Functions of elements: other names, and compositions.
#include <cmath>

#include "import/exported/rules.h"
#include "op/wide_grad.h"

namespace cleave::exported {
namespace {

using V = ValueId;

// A tensor or a number.
CallOperand operand(Call& c, const char* name) {
  return c.has_tensor(name) ? CallOperand(c.tensor(name)) : CallOperand(c.value(name));
}

template <const char* const* op>
Values renamed(Call& c) {
  std::vector<CallOperand> operands = {operand(c, "self")};
  if (c.has("other")) operands.push_back(operand(c, "other"));
  NamedAttrs attrs;
  for (const char* name : {"alpha", "rounding_mode"})
    if (c.has(name)) attrs.emplace_back(name, c.value(name));
  return {c.op(*op, std::move(operands), std::move(attrs))};
}

#define CLEAVE_NAME(ident, text) constexpr const char* ident = text
CLEAVE_NAME(abs_name, "abs");
CLEAVE_NAME(add_name, "add");
CLEAVE_NAME(sub_name, "sub");
CLEAVE_NAME(mul_name, "mul");
CLEAVE_NAME(div_name, "div");
CLEAVE_NAME(neg_name, "neg");
CLEAVE_NAME(trunc_name, "trunc");
CLEAVE_NAME(gt_name, "gt");
CLEAVE_NAME(ge_name, "ge");
CLEAVE_NAME(lt_name, "lt");
CLEAVE_NAME(le_name, "le");
CLEAVE_NAME(ne_name, "ne");
CLEAVE_NAME(maximum_name, "maximum");
CLEAVE_NAME(minimum_name, "minimum");
CLEAVE_NAME(and_name, "bitwise_and");
CLEAVE_NAME(or_name, "bitwise_or");
CLEAVE_NAME(xor_name, "bitwise_xor");
CLEAVE_NAME(right_shift_name, "__rshift__");
CLEAVE_NAME(sigmoid_name, "sigmoid");
CLEAVE_NAME(expm1_name, "expm1");
CLEAVE_NAME(erf_name, "erf");
CLEAVE_NAME(log1p_name, "log1p");
CLEAVE_NAME(lgamma_name, "lgamma");
CLEAVE_NAME(digamma_name, "digamma");
CLEAVE_NAME(erfc_name, "erfc");
CLEAVE_NAME(erfinv_name, "erfinv");
CLEAVE_NAME(i0_name, "i0");
CLEAVE_NAME(exp2_name, "exp2");
CLEAVE_NAME(acos_name, "acos");
CLEAVE_NAME(asin_name, "asin");
CLEAVE_NAME(atan_name, "atan");
#undef CLEAVE_NAME

V self_of(Call& c) { return c.tensor("self"); }

Values add_product(Call& c, const char* op) {
  V y = c.op(op, {c.tensor("tensor1"), c.tensor("tensor2")});
  const AttrValue value = c.value("value", 1);
  if (!(value == AttrValue(1))) y = c.op("mul", {y, CallOperand(value)});
  return {c.op("add", {self_of(c), y})};
}

Values lerp(Call& c) {
  const V x = self_of(c), end = c.tensor("end");
  return {c.op("add", {x, c.op("mul", {c.op("sub", {end, x}), operand(c, "weight")})})};
}

Values nan_to_num(Call& c) {
  const V x = self_of(c);
  const DType t = c.type(x).dtype;
  const double most = t == DType::f64    ? 0x1.fffffffffffffp1023
                      : t == DType::f16  ? 65504
                      : t == DType::bf16 ? 0x1.fep127
                                         : 0x1.fffffep127;
  if (!is_floating(t)) return {c.op("clone", {x})};
  V y = c.op("where", {c.op("isnan", {x}), c.floating("nan", 0), x});
  y = c.op("where", {c.op("eq", {x, INFINITY}), c.floating("posinf", most), y});
  return {c.op("where", {c.op("eq", {x, -INFINITY}), c.floating("neginf", -most), y})};
}

Values logaddexp(Call& c) { return {log_of_sum(c, self_of(c), c.tensor("other"))}; }

Values xlogy(Call& c) {
  const V y = c.tensor("other"), x = self_of(c);
  const V product = c.op("mul", {x, c.op("log", {y})});
  const V zero = c.op("where", {c.op("eq", {x, 0}), 0.0, product});
  return {c.op("where", {c.op("isnan", {y}), c.op("add", {product, y}), zero})};
}

// y where it is a tensor or a number; the result is floating.
Values float_power(Call& c) {
  const V x = c.to(self_of(c), DType::f64);
  if (c.has_tensor("exponent")) return {c.op("pow", {x, c.to(c.tensor("exponent"), DType::f64)})};
  return {c.op("pow", {x, c.floating("exponent", 1)})};
}

Values logit(Call& c) {
  V x = floating_self(c);
  if (c.has("eps")) {
    const double eps = c.floating("eps", 0);
    x = c.op("clamp", {x, eps, 1 - eps});
  }
  return {c.op("log", {c.op("div", {x, c.op("rsub", {x, 1})})})};
}

// self times a power of 2, modulo the range; 0 where a shift is negative or beyond the bits.
Values left_shift(Call& c) {
  const V x = self_of(c);
  if (!c.has_tensor("other")) {
    const int64_t places = c.integer("other", 0);
    const auto bits = static_cast<int64_t>(8 * size_of(c.type(x).dtype));
    const bool is_out = places < 0 || places >= bits;
    return {c.op("mul", {x, AttrValue(is_out ? int64_t{0} : int64_t(uint64_t{1} << places))})};
  }
  V places = c.tensor("other");
  places = c.to(places, c.type(c.op("bitwise_or", {x, places})).dtype);
  const V power =
      c.op("pow", {c.op("full_like", {places}, {{"fill_value", 2}}), c.op("clamp", {places, 0})});
  return {c.op("where", {c.op("lt", {places, 0}), 0, c.op("mul", {x, power})})};
}

// The larger one, or the one that is a number; of equal ones the first, with the whole gradient.
Values extreme_number(Call& c, const char* at_least) {
  const V a = self_of(c), b = c.tensor("other");
  V first = c.op(at_least, {a, b});
  if (is_floating(c.type(b).dtype)) first = c.op("logical_or", {first, c.op("isnan", {b})});
  return {c.op("where", {first, a, b})};
}

// Whether the sign's bit is set: of -0.0 too, whose reciprocal is -inf.
V has_sign(Call& c, V x) {
  const V below = c.op("lt", {x, 0});
  if (!is_floating(c.type(x).dtype)) return below;
  return c.op("logical_or", {below, c.op("eq", {c.op("reciprocal", {x}), -INFINITY})});
}

Values copysign(Call& c) {
  V x = self_of(c);
  if (!is_floating(c.type(x).dtype)) x = c.to(x, DType::f32);
  const V size = c.op("abs", {x});
  const V sign =
      c.has_tensor("other")
          ? c.tensor("other")
          : c.op("full", {}, {{"size", Shape{}}, {"fill_value", c.floating("other", 1)}});
  return {c.op("where", {has_sign(c, sign), c.op("neg", {size}), size})};
}

Values ldexp(Call& c) {
  const V n = c.tensor("other");
  return {c.op("mul", {self_of(c), c.op("pow", {2.0, n})})};
}

// 0 of a positive number, pi of a negative one.
Values angle(Call& c) {
  V x = self_of(c);
  if (!is_floating(c.type(x).dtype)) x = c.to(x, DType::f32);
  const V y = c.op("where", {c.op("isnan", {x}), x, 0.0});
  return {c.op("where", {c.op("lt", {x, 0}), M_PI, y})};
}

Values signed_infinity(Call& c, double sign) {
  const V x = self_of(c);
  if (!is_floating(c.type(x).dtype)) return {c.op("zeros_like", {x}, {{"dtype", DType::boolean}})};
  return {c.op("eq", {x, sign * INFINITY})};
}

Values floor_divide(Call& c) {
  return {c.op("div", {operand(c, "self"), operand(c, "other")}, {{"rounding_mode", "floor"}})};
}

// s * sqrt((a / s)^2 + (b / s)^2), the larger of both as s, so that no square overflows or
// vanishes. The result doesn't depend on s, so that no gradient flows through it.
Values hypot(Call& c) {
  const auto magnitude = [&](const char* name) {
    const V x = c.op("abs", {c.tensor(name)});
    return c.to(x, wide(c.type(x).dtype));
  };
  const V a = magnitude("self"), b = magnitude("other"), most = c.op("maximum", {a, b});
  const V usable = c.op("logical_and", {c.op("gt", {most, 0}), c.op("lt", {most, INFINITY})});
  const V scale = c.op("detach", {c.op("where", {usable, most, 1.0})});
  const auto squared = [&](V x) { return c.op("pow", {c.op("div", {x, scale}), 2}); };
  const V y = c.op("mul", {c.op("sqrt", {c.op("add", {squared(a), squared(b)})}), scale});
  const V is_infinite = c.op("logical_or", {c.op("eq", {a, INFINITY}), c.op("eq", {b, INFINITY})});
  const DType t = c.type(c.op("maximum", {self_of(c), c.tensor("other")})).dtype;
  return {c.to(c.op("where", {is_infinite, INFINITY, y}), t)};
}

Values scaled(Call& c, double factor) { return {c.op("mul", {self_of(c), factor})}; }

}  // namespace

ValueId log_of_sum(Call& c, ValueId a, ValueId b) {
  // Of the same infinity there is no difference.
  const V difference = c.op("where", {c.op("eq", {a, b}), 0.0, c.op("sub", {a, b})});
  const V apart = c.op("neg", {c.op("abs", {difference})});
  return c.op("add", {c.op("maximum", {a, b}), c.op("log1p", {c.op("exp", {apart})})});
}

ValueId floating_self(Call& c) {
  const V x = self_of(c);
  return is_floating(c.type(x).dtype) ? x : c.to(x, DType::f32);
}

std::span<const RuleRow> pointwise_rules() {
  static constexpr RuleRow rows[] = {
      {"absolute", renamed<&abs_name>},
      {"add.Scalar", renamed<&add_name>},
      {"subtract", renamed<&sub_name>},
      {"multiply", renamed<&mul_name>},
      {"divide", renamed<&div_name>},
      {"true_divide", renamed<&div_name>},
      {"negative", renamed<&neg_name>},
      {"fix", renamed<&trunc_name>},
      {"greater", renamed<&gt_name>},
      {"greater_equal", renamed<&ge_name>},
      {"less", renamed<&lt_name>},
      {"less_equal", renamed<&le_name>},
      {"not_equal", renamed<&ne_name>},
      {"max.other", renamed<&maximum_name>},
      {"min.other", renamed<&minimum_name>},
      {"__and__", renamed<&and_name>},
      {"__or__", renamed<&or_name>},
      {"__xor__", renamed<&xor_name>},
      {"special_expit", renamed<&sigmoid_name>},
      {"special_expm1", renamed<&expm1_name>},
      {"special_erf", renamed<&erf_name>},
      {"special_log1p", renamed<&log1p_name>},
      {"special_gammaln", renamed<&lgamma_name>},
      {"special_digamma", renamed<&digamma_name>},
      {"special_psi", renamed<&digamma_name>},
      {"special_erfc", renamed<&erfc_name>},
      {"special_erfinv", renamed<&erfinv_name>},
      {"special_i0", renamed<&i0_name>},
      {"special_exp2", renamed<&exp2_name>},
      {"special_polygamma",
       [](Call& c) -> Values {
         return {c.op("polygamma", {self_of(c)}, {{"n", c.integer("n", 0)}})};
       }},
      {"arccos", renamed<&acos_name>},
      {"arcsin", renamed<&asin_name>},
      {"arctan", renamed<&atan_name>},
      {"square", [](Call& c) -> Values { return {c.op("pow", {self_of(c), 2})}; }},
      {"positive", [](Call& c) -> Values { return {self_of(c)}; }},
      {"bitwise_right_shift", renamed<&right_shift_name>},
      {"bitwise_left_shift", left_shift},
      {"__lshift__", left_shift},
      {"frac",
       [](Call& c) -> Values { return {c.op("sub", {self_of(c), c.op("trunc", {self_of(c)})})}; }},
      {"sgn", [](Call& c) -> Values { return {c.op("sign", {self_of(c)})}; }},
      {"deg2rad", [](Call& c) -> Values { return scaled(c, M_PI / 180); }},
      {"rad2deg", [](Call& c) -> Values { return scaled(c, 180 / M_PI); }},
      {"isfinite",
       [](Call& c) -> Values {
         const V x = self_of(c);
         if (!is_floating(c.type(x).dtype))
           return {c.op("ones_like", {x}, {{"dtype", DType::boolean}})};
         return {c.op("lt", {c.op("abs", {x}), INFINITY})};
       }},
      {"clamp_min",
       [](Call& c) -> Values { return {c.op("clamp", {self_of(c), operand(c, "min")})}; }},
      {"clamp_max",
       [](Call& c) -> Values {
         return {c.op("clamp", {self_of(c), ValueId::none(), operand(c, "max")})};
       }},
      {"clip",
       [](Call& c) -> Values {
         return {c.op("clamp", {self_of(c), operand(c, "min"), operand(c, "max")})};
       }},
      {"addcmul", in_f32<[](Call& c) -> Values { return add_product(c, "mul"); }>},
      {"addcdiv", in_f32<[](Call& c) -> Values { return add_product(c, "div"); }>},
      {"fmax", [](Call& c) { return extreme_number(c, "ge"); }},
      {"fmin", [](Call& c) { return extreme_number(c, "le"); }},
      {"signbit", [](Call& c) -> Values { return {has_sign(c, self_of(c))}; }},
      {"copysign", copysign},
      {"ldexp", in_f32<ldexp>},
      {"_neg_view",
       [](Call& c) -> Values {
         c.share_arguments();
         return {c.op("neg", {self_of(c)})};
       }},
      {"angle", angle},
      {"isposinf", [](Call& c) { return signed_infinity(c, 1); }},
      {"isneginf", [](Call& c) { return signed_infinity(c, -1); }},
      {"lerp", in_f32<lerp>},
      {"nan_to_num", nan_to_num},
      {"logaddexp", in_f32<logaddexp>},
      {"xlogy.Tensor", in_f32<xlogy>},
      {"special_xlogy", in_f32<xlogy>},
      {"float_power", float_power},
      {"logit", in_f32<logit>},
      {"floor_divide", floor_divide},
      {"hypot", hypot},
  };
  return rows;
}

}  // namespace cleave::exported
