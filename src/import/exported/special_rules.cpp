// Functions of statistics and calculus, as compositions.
#include <cmath>
#include <numbers>

#include "import/exported/rules.h"

namespace cleave::exported {
namespace {

using V = ValueId;

// sin(pi x) / (pi x), 1 at 0
Values sinc(Call& c) {
  const V x = c.op("mul", {floating_self(c), M_PI}), is_zero = c.op("eq", {x, 0.0});
  const V safe = c.op("where", {is_zero, 1.0, x});
  return {c.op("where", {is_zero, 1.0, c.op("div", {c.op("sin", {safe}), safe})})};
}

// -x log(x), 0 at 0, -inf below
Values entropy(Call& c) {
  const V x = floating_self(c), is_positive = c.op("gt", {x, 0.0});
  const V safe = c.op("where", {is_positive, x, 1.0});
  const V y = c.op("neg", {c.op("mul", {safe, c.op("log", {safe})})});
  const V rest =
      c.op("where", {c.op("eq", {x, 0.0}), 0.0, c.op("where", {c.op("isnan", {x}), x, -INFINITY})});
  return {c.op("where", {is_positive, y, rest})};
}

// x log(1 + y), 0 where x is 0 and y a number
Values xlog1py(Call& c) {
  // A number is of the other operand's dtype.
  const auto operand = [&](const char* name, const char* other) {
    if (c.has_tensor(name)) return c.tensor(name);
    const DType t = c.type(c.tensor(other)).dtype;
    return c.op("full", {},
                {{"size", Shape{}},
                 {"fill_value", c.floating(name, 0)},
                 {"dtype", is_floating(t) ? t : DType::f32}});
  };
  const V log = c.op("log1p", {operand("other", "self")}), x = operand("self", "other");
  const V product = c.op("mul", {x, log});
  const V zero = c.op("where", {c.op("eq", {x, 0}), 0.0, product});
  return {c.op("where", {c.op("isnan", {log}), product, zero})};
}

// log2(2^a + 2^b)
Values logaddexp2(Call& c) {
  const V a = c.tensor("self"), b = c.tensor("other");
  const V apart = c.op("neg", {c.op("abs", {c.op("sub", {a, b})})});
  const V more = c.op("mul", {c.op("log1p", {c.op("pow", {2.0, apart})}), std::numbers::log2e});
  const V same = c.op("logical_and", {c.op("isinf", {a}), c.op("eq", {a, b})});
  return {c.op("where", {same, a, c.op("add", {c.op("maximum", {a, b}), more})})};
}

// 0 below 0, 1 above, `values` at it
Values heaviside(Call& c) {
  const V x = c.tensor("self"), at_zero = c.tensor("values");
  const V step = c.to(c.op("gt", {x, 0}), c.type(x).dtype);
  return {c.op("where", {c.op("eq", {x, 0}), at_zero, step})};
}

// |a - b| <= atol + rtol |b|, and equal infinities
Values isclose(Call& c) {
  V a = c.tensor("self"), b = c.tensor("other");
  V same = c.op("eq", {a, b});
  if (is_floating(c.type(a).dtype) && c.flag("equal_nan", false))
    same =
        c.op("logical_or", {same, c.op("logical_and", {c.op("isnan", {a}), c.op("isnan", {b})})});
  if (!is_floating(c.type(a).dtype)) {
    a = c.to(a, DType::f64);
    b = c.to(b, DType::f64);
  }
  const V allowed = c.op(
      "add", {c.op("mul", {c.op("abs", {b}), c.floating("rtol", 1e-5)}), c.floating("atol", 1e-8)});
  const V apart = c.op("abs", {c.op("sub", {a, b})});
  const V near = c.op("logical_and", {c.op("lt", {apart, INFINITY}), c.op("le", {apart, allowed})});
  return {c.op("logical_or", {same, near})};
}

// Means and sums of the numbers alone.
Values nan_mean(Call& c) {
  V x = c.tensor("self");
  if (const auto t = c.dtype("dtype")) x = c.to(x, *t);
  NamedAttrs attrs;
  if (c.has("dim")) attrs.emplace_back("dim", c.integers("dim"));
  if (c.flag("keepdim", false)) attrs.emplace_back("keepdim", true);
  const V is_nan = c.op("isnan", {x});
  const V sum = c.op("sum", {c.op("where", {is_nan, 0.0, x})}, attrs);
  const V count = c.op("sum", {c.op("logical_not", {is_nan})}, attrs);
  return {c.op("div", {sum, c.to(count, c.type(sum).dtype)})};
}

Values take(Call& c) {
  const V x = c.tensor("self"), index = c.tensor("index");
  const V flat = c.view(x, {c.type(x).numel()});
  return {c.op("index", {flat, CallOperand(Values{index})})};
}

}  // namespace

std::span<const RuleRow> special_rules() {
  static constexpr RuleRow rows[] = {
      {"sinc", in_f32<sinc>},
      {"special_entr", in_f32<entropy>},
      {"special_xlog1py", in_f32<xlog1py>},
      {"logaddexp2", in_f32<logaddexp2>},
      {"heaviside", heaviside},
      {"isclose", isclose},
      {"isreal",
       [](Call& c) -> Values {
         return {c.op("ones_like", {c.tensor("self")}, {{"dtype", DType::boolean}})};
       }},
      {"nanmean", in_f32<nan_mean>},
      {"take", take},
  };
  return rows;
}

}  // namespace cleave::exported
