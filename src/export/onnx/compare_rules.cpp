// Comparisons, and operators of bools and bits.
#include "export/onnx/rules.h"
#include "op/promotion.h"

namespace cleave::to_onnx {
namespace {

// Numbers are rounded to the dtype in which the operands meet.
V compared(Call& c, const char* onnx) {
  const DType meet = promoted(c.op(), {0, 1});
  return c.compare(onnx, c.operand(0, meet, true), c.operand(1, meet, true));
}

Status eq(Call& c) {
  c.give(0, compared(c, "Equal"));
  return {};
}
Status ne(Call& c) {
  c.give(0, c.node("Not", {compared(c, "Equal")}));
  return {};
}
Status lt(Call& c) {
  c.give(0, compared(c, "Less"));
  return {};
}
Status le(Call& c) {
  c.give(0, compared(c, "LessOrEqual"));
  return {};
}
Status gt(Call& c) {
  c.give(0, compared(c, "Greater"));
  return {};
}
Status ge(Call& c) {
  c.give(0, compared(c, "GreaterOrEqual"));
  return {};
}

Status logical(Call& c, const char* onnx) {
  c.give(0, c.node(onnx, {c.in(0, DType::boolean), c.in(1, DType::boolean)}));
  return {};
}
Status logical_and(Call& c) { return logical(c, "And"); }
Status logical_or(Call& c) { return logical(c, "Or"); }
Status logical_xor(Call& c) { return logical(c, "Xor"); }

Status bitwise(Call& c, const char* logical, const char* bits) {
  const DType meet = promoted(c.op(), {0, 1});
  const V a = c.operand(0, meet), b = c.operand(1, meet);
  if (meet == DType::boolean)
    c.give(0, c.node(logical, {c.cast(a, DType::boolean), c.cast(b, DType::boolean)}));
  else
    c.give(0, c.node(bits, {a, b}));
  return {};
}
Status bitwise_and(Call& c) { return bitwise(c, "And", "BitwiseAnd"); }
Status bitwise_or(Call& c) { return bitwise(c, "Or", "BitwiseOr"); }
Status bitwise_xor(Call& c) { return bitwise(c, "Xor", "BitwiseXor"); }

constexpr RuleEntry rules[] = {{"eq", eq},
                               {"ne", ne},
                               {"lt", lt},
                               {"le", le},
                               {"gt", gt},
                               {"ge", ge},
                               {"logical_and", logical_and},
                               {"logical_or", logical_or},
                               {"logical_xor", logical_xor},
                               {"bitwise_and", bitwise_and},
                               {"bitwise_or", bitwise_or},
                               {"bitwise_xor", bitwise_xor}};

}  // namespace

std::span<const RuleEntry> compare_rules() { return rules; }

}  // namespace cleave::to_onnx
