// Matrix products. Those with an added term are decomposed.
#include "export/onnx/rules.h"

namespace cleave::to_onnx {
namespace {

Status product(Call& c) {
  c.give(0, c.node("MatMul", {c.carried(0), c.carried(1)}));
  return {};
}

// Of 8-bit integers, exact in 32 bits. Of no inner size onnxruntime leaves the result as it is.
Status int_mm(Call& c) {
  if (c.shape(0)[1] == Dim(0)) {
    c.give(0, c.full(c.number(0, DType::i32), c.result(0).shape));
    return {};
  }
  c.give(0, c.node("MatMulInteger", {c.in(0), c.in(1)}, DType::i32));
  return {};
}

constexpr RuleEntry rules[] = {{"mm", product}, {"bmm", product}, {"_int_mm", int_mm}};

}  // namespace

std::span<const RuleEntry> product_rules() { return rules; }

}  // namespace cleave::to_onnx
