#include "op/pointwise_lower.h"

#include "ir/array.h"

namespace cleave::loop {
namespace {

bool is_half(DType t) { return t == DType::bf16 || t == DType::f16; }
bool is_narrow(DType t) { return t == DType::i16 || t == DType::i8 || t == DType::u8; }

bool holds_all_of(DType to, DType from) {
  if (to == from || from == DType::boolean) return true;
  return to == DType::i16 && (from == DType::i8 || from == DType::u8);
}

}  // namespace

Expr as_dtype(Expr x, DType from, DType to) {
  Expr y = cast(std::move(x), compute_type(to));
  const bool narrowed = (is_half(to) || is_narrow(to)) && !holds_all_of(to, from);
  return narrowed ? round_to_stored(y, to) : y;
}

Expr number_constant(const AttrValue& number, DType meet) {
  const DType type = compute_type(meet);
  if (is_floating(type)) return constant(type, number.as_double());
  if (type == DType::boolean) return constant_int(type, number.as_double() != 0);
  int64_t v = 0;
  if (const bool* b = number.get<bool>())
    v = *b ? 1 : 0;
  else if (const Dim* d = number.get<Dim>())
    v = d->is_const() ? d->value() : 0;
  else
    v = truncate_to(DType::i64, number.as_double());
  return constant_int(type, wrap_to(meet, v));
}

Expr rounded_constant(const AttrValue& number, DType meet) {
  if (!is_half(meet)) return number_constant(number, meet);
  return constant(DType::f32, round_to(meet, number.as_double()));
}

Expr operand_as(const OpView& op, const Exprs& x, int operand, DType meet) {
  if (op.is_number(operand)) return number_constant(op.number(operand), meet);
  return as_dtype(x[operand], op.in_type(operand).dtype, meet);
}

Expr load_as(KernelBuilder& k, const OpView& op, int operand, const Exprs& index, DType meet) {
  if (op.is_number(operand)) return number_constant(op.number(operand), meet);
  return as_dtype(k.load_broadcast(op.flat(operand), index), op.in_type(operand).dtype, meet);
}

LowerPtr broadcasting(std::function<Exprs(KernelBuilder&, const OpView&, const Exprs&)> value) {
  return std::make_shared<const LowerRule>(LowerRule{ElementwiseRule{std::move(value), true}});
}

Expr same(const Expr& x, double value) {
  return is_floating(x.type()) ? constant(x.type(), value)
                               : constant_int(x.type(), static_cast<int64_t>(value));
}

}  // namespace cleave::loop
