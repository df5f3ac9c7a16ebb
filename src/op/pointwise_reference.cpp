#include "op/pointwise_reference.h"

namespace cleave {
namespace {

bool is_half(DType t) { return t == DType::bf16 || t == DType::f16; }

int64_t integer_of(const AttrValue& number) {
  if (const bool* b = number.get<bool>()) return *b ? 1 : 0;
  if (const Dim* d = number.get<Dim>()) return d->is_const() ? d->value() : 0;
  return truncate_to(DType::i64, number.as_double());
}

double floating_at(const OpView& op, const Array* a, int operand, DType meet,
                   const std::vector<int64_t>& index, NumberRounding numbers) {
  if (op.is_number(operand)) {
    const double v = op.number(operand).as_double();
    return numbers == NumberRounding::to_meet ? round_to(meet, v) : v;
  }
  if (a == nullptr) return 0;
  const double v = a->number(broadcast_position(index, a->shape));
  const bool rounds = is_half(meet) || numbers == NumberRounding::to_meet;
  return rounds && a->dtype != meet ? round_to(meet, v) : v;
}

int64_t integer_at(const OpView& op, const Array* a, int operand, DType meet,
                   const std::vector<int64_t>& index) {
  if (op.is_number(operand)) return wrap_to(meet, integer_of(op.number(operand)));
  if (a == nullptr) return 0;
  return wrap_to(meet, a->i[broadcast_position(index, a->shape)]);
}

}  // namespace

void set_number(Array& a, int64_t k, const AttrValue& number) {
  if (a.floating() || number.get<double>())
    a.set(k, number.as_double());
  else
    a.set_int(k, integer_of(number));
}

Array result_array(const OpView& op, int k) {
  return Array(op.out_type(k).dtype, static_shape(op.out_type(k)));
}

Result<Arrays> reference_pointwise(const OpView& op, std::span<const Array* const> in, DType meet,
                                   const PointReference& rule) {
  Array out = result_array(op, 0);
  if (out.numel() == 0) return Arrays{std::move(out)};
  const int count = op.operand_count();
  std::vector<int64_t> index(out.shape.size(), 0);
  int64_t k = 0;
  do {
    if (is_floating(meet)) {
      std::vector<double> x(count);
      for (int o = 0; o < count; ++o) x[o] = floating_at(op, in[o], o, meet, index, rule.numbers);
      out.set(k, rule.floating(x));
    } else {
      std::vector<int64_t> x(count);
      for (int o = 0; o < count; ++o) x[o] = integer_at(op, in[o], o, meet, index);
      out.set_int(k, rule.integer(x));
    }
    ++k;
  } while (next_index(index, out.shape));
  return Arrays{std::move(out)};
}

Result<Arrays> reference_unary(const OpView& op, std::span<const Array* const> in,
                               const std::function<double(double)>& floating,
                               const std::function<int64_t(int64_t)>& integer) {
  Array out = result_array(op, 0);
  const Array& x = *in[0];
  for (int64_t k = 0; k < x.numel(); ++k) {
    if (x.floating() || integer == nullptr)
      out.set(k, floating(x.number(k)));
    else
      out.set_int(k, integer(x.i[k]));
  }
  return Arrays{std::move(out)};
}

}  // namespace cleave
