#include "op/promotion.h"

namespace cleave {
namespace {

int category(DType t) { return is_floating(t) ? 2 : is_integer(t) ? 1 : 0; }

void join(std::optional<DType>& into, DType t) { into = into ? promote(*into, t) : t; }

// Returns `high` unless `low` is of a higher category.
std::optional<DType> combine(std::optional<DType> high, std::optional<DType> low) {
  if (!high) return low;
  if (!low || category(*low) <= category(*high)) return high;
  return promote(*high, *low);
}

}  // namespace

DType number_dtype(const AttrValue& number) {
  if (number.get<bool>()) return DType::boolean;
  return number.is_int() ? DType::i64 : DType::f32;
}

void Promotion::add(const Type& tensor) {
  join(tensor.rank() > 0 ? dims_ : scalars_, tensor.dtype);
}

void Promotion::add_number(const AttrValue& number) { join(numbers_, number_dtype(number)); }

void Promotion::add_operand(const OpView& op, int operand) {
  if (op.is_number(operand)) return add_number(op.number(operand));
  if (op.has(operand)) add(op.in_type(operand));
}

DType Promotion::result() const {
  return combine(dims_, combine(scalars_, numbers_)).value_or(DType::f32);
}

DType promoted(const OpView& op, std::initializer_list<int> operands) {
  Promotion p;
  for (int k : operands) p.add_operand(op, k);
  return p.result();
}

DType to_floating(DType t) { return is_floating(t) ? t : DType::f32; }

}  // namespace cleave
