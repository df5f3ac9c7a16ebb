// Conversions, and operators that return their operand.
#include "export/onnx/rules.h"

namespace cleave::to_onnx {
namespace {

// Devices and memory formats mean nothing in a model.
Status same(Call& c) {
  c.give(0, c.in(0));
  return {};
}

// A narrower integer than the float would have is reached by way of i64: out of its range, a
// conversion of a float is open.
Status to_copy(Call& c) {
  const DType from = c.dtype(0), to = c.result(0).dtype;
  const bool narrow = to == DType::i16 || to == DType::i8 || to == DType::u8;
  c.give(0, is_floating(from) && narrow ? c.in(0, DType::i64) : c.in(0));
  return {};
}

// 0 in the place of what is ignored.
Status class_index(Call& c) {
  const V target = c.in(0, DType::i64);
  const V ignored = c.number(c.op().attr("ignore_index"), DType::i64);
  c.give(0, c.where(c.compare("Equal", target, ignored), c.model().integer_number(0), target));
  return {};
}

constexpr RuleEntry rules[] = {{"_to_copy", to_copy},     {"clone", same},
                               {"lift_fresh_copy", same}, {"conj_physical", same},
                               {"alias", same},           {"detach", same},
                               {"opaque", same},          {"class_index", class_index}};

}  // namespace

std::span<const RuleEntry> convert_rules() { return rules; }

}  // namespace cleave::to_onnx
