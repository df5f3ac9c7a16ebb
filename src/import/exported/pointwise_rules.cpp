// Functions of elements: other names, and compositions.
#include <cmath>

#include "import/exported/rules.h"

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
CLEAVE_NAME(sigmoid_name, "sigmoid");
CLEAVE_NAME(expm1_name, "expm1");
CLEAVE_NAME(erf_name, "erf");
CLEAVE_NAME(log1p_name, "log1p");
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

Values logaddexp(Call& c) {
  const V a = self_of(c), b = c.tensor("other");
  const V apart = c.op("neg", {c.op("abs", {c.op("sub", {a, b})})});
  return {c.op("add", {c.op("maximum", {a, b}), c.op("log1p", {c.op("exp", {apart})})})};
}

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
  V x = self_of(c);
  if (c.has("eps")) {
    const double eps = c.floating("eps", 0);
    x = c.op("clamp", {x, eps, 1 - eps});
  }
  return {c.op("log", {c.op("div", {x, c.op("rsub", {x, 1})})})};
}

Values floor_divide(Call& c) {
  return {c.op("div", {operand(c, "self"), operand(c, "other")}, {{"rounding_mode", "floor"}})};
}

Values scaled(Call& c, double factor) { return {c.op("mul", {self_of(c), factor})}; }

}  // namespace

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
      {"arccos", renamed<&acos_name>},
      {"arcsin", renamed<&asin_name>},
      {"arctan", renamed<&atan_name>},
      {"square", [](Call& c) -> Values { return {c.op("pow", {self_of(c), 2})}; }},
      {"positive", [](Call& c) -> Values { return {self_of(c)}; }},
      {"exp2", [](Call& c) -> Values { return {c.op("pow", {2, self_of(c)})}; }},
      {"erfc", [](Call& c) -> Values { return {c.op("rsub", {c.op("erf", {self_of(c)}), 1})}; }},
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
      {"addcmul", [](Call& c) -> Values { return add_product(c, "mul"); }},
      {"addcdiv", [](Call& c) -> Values { return add_product(c, "div"); }},
      {"lerp", lerp},
      {"nan_to_num", nan_to_num},
      {"logaddexp", logaddexp},
      {"xlogy.Tensor", xlogy},
      {"special_xlogy", xlogy},
      {"float_power", float_power},
      {"logit", logit},
      {"floor_divide", floor_divide},
      {"hypot",
       [](Call& c) -> Values {
         const V a = self_of(c), b = c.tensor("other");
         return {c.op("sqrt", {c.op("add", {c.op("mul", {a, a}), c.op("mul", {b, b})})})};
       }},
  };
  return rows;
}

}  // namespace cleave::exported
