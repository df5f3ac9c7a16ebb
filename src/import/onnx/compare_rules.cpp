// Comparisons, logic, and choice by them.
#include "import/onnx/rules.h"

namespace cleave::onnx {
namespace {

Status equal(Call& c) {
  c.give(0, c.op("eq", {c.in(0), c.in(1)}));
  return {};
}
Status less(Call& c) {
  c.give(0, less_than(c, c.in(0), c.in(1), c.element(0)));
  return {};
}
Status greater(Call& c) {
  c.give(0, less_than(c, c.in(1), c.in(0), c.element(0)));
  return {};
}
Status less_or_equal(Call& c) {
  const bool wide = c.element(0) == Element::u64;
  c.give(0, wide ? c.op("logical_not", {less_than(c, c.in(1), c.in(0), Element::u64)})
                 : c.op("le", {c.in(0), c.in(1)}));
  return {};
}
Status greater_or_equal(Call& c) {
  const bool wide = c.element(0) == Element::u64;
  c.give(0, wide ? c.op("logical_not", {less_than(c, c.in(0), c.in(1), Element::u64)})
                 : c.op("ge", {c.in(0), c.in(1)}));
  return {};
}

Status logical_not(Call& c) {
  c.give(0, c.op("logical_not", {c.in(0)}));
  return {};
}
template <int which>
Status logical(Call& c) {
  static constexpr const char* names[] = {"logical_and", "logical_or", "logical_xor"};
  c.give(0, c.op(names[which], {c.in(0), c.in(1)}));
  return {};
}

Status is_nan(Call& c) {
  c.give(0, c.op("isnan", {c.in(0)}));
  return {};
}

Status is_inf(Call& c) {
  const V x = c.in(0);
  const bool negative = c.integer("detect_negative", 1) != 0;
  const bool positive = c.integer("detect_positive", 1) != 0;
  V is = c.op("isinf", {x});
  if (!negative) is = c.op("logical_and", {is, c.op("gt", {x, 0})});
  if (!positive) is = c.op("logical_and", {is, c.op("lt", {x, 0})});
  c.give(0, is);
  return {};
}

Status where(Call& c) {
  c.give(0, c.where(c.in(0), c.in(1), c.in(2)), c.element(1));
  return {};
}

constexpr RuleEntry entries[] = {{"Equal", equal},
                                 {"Less", less},
                                 {"Greater", greater},
                                 {"LessOrEqual", less_or_equal},
                                 {"GreaterOrEqual", greater_or_equal},
                                 {"Not", logical_not},
                                 {"And", logical<0>},
                                 {"Or", logical<1>},
                                 {"Xor", logical<2>},
                                 {"IsNaN", is_nan},
                                 {"IsInf", is_inf},
                                 {"Where", where}};

}  // namespace

std::span<const RuleEntry> compare_rules() { return entries; }

}  // namespace cleave::onnx
