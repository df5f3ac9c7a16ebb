// Matrix products. Those with an added term are decomposed.
#include "export/onnx/rules.h"

namespace cleave::to_onnx {
namespace {

Status product(Call& c) {
  c.give(0, c.node("MatMul", {c.carried(0), c.carried(1)}));
  return {};
}

// Of 8-bit integers, exact in 32 bits.
Status int_mm(Call& c) {
  c.give(0, c.node("MatMulInteger", {c.in(0), c.in(1)}, DType::i32));
  return {};
}

constexpr RuleEntry rules[] = {{"mm", product}, {"bmm", product}, {"_int_mm", int_mm}};

}  // namespace

std::span<const RuleEntry> product_rules() { return rules; }

}  // namespace cleave::to_onnx
