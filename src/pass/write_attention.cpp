#include <cmath>

#include "pass/attention_reader.h"

namespace cleave {
namespace {

// Adds leading dims of size 1 until there are four.
ValueId four_dims(Builder& b, ValueId v) {
  while (b.type(v).rank() < 4) v = b.unsqueeze(v, 0);
  return v;
}

// As a mask to be added: zeros where open.
ValueId added(Builder& b, const AttentionMask& m, DType t) {
  if (!m.fill) {
    const ValueId v = b.convert(m.value, t);
    return m.scale == 1 ? v : b.mul(v, m.scale);
  }
  const ValueId zero = b.full({}, 0.0, t), fill = b.full({}, *m.fill, t);
  return m.opens ? b.where(m.value, zero, fill) : b.where(m.value, fill, zero);
}

ValueId write_mask(Builder& b, const SpelledAttention& a) {
  if (a.masks.empty()) return ValueId::none();
  const DType query = b.type(a.query).dtype;
  const DType work = query == DType::f64 ? query : DType::f32;
  const AttentionMask& first = a.masks[0];
  if (a.masks.size() == 1) {
    const DType t = b.type(first.value).dtype;
    if (!first.fill && first.scale == 1 && (t == work || t == query)) return first.value;
    if (first.fill && std::isinf(*first.fill))
      return first.opens ? first.value : b.logical_not(first.value);
  }
  ValueId sum = added(b, first, work);
  for (size_t k = 1; k < a.masks.size(); ++k) sum = b.add(sum, added(b, a.masks[k], work));
  return sum;
}

}  // namespace

AttentionOperands write_operands(Builder& b, const SpelledAttention& a) {
  AttentionOperands out;
  ValueId key = a.key;
  if (a.is_key_transposed) {
    std::vector<int64_t> dims;
    for (int64_t k = 0; k < b.type(key).rank(); ++k) dims.push_back(k);
    std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
    key = b.permute(key, dims);
  }
  out.query = four_dims(b, a.query);
  out.key = four_dims(b, key);
  out.value = four_dims(b, a.value);
  out.mask = write_mask(b, a);
  return out;
}

ValueId write_attention(Builder& b, const SpelledAttention& a, const Shape& shape) {
  const AttentionOperands in = write_operands(b, a);
  NamedAttrs attrs = {{"dropout_p", a.dropout_p},
                      {"is_causal", a.is_causal},
                      {"scale", a.scale},
                      {"enable_gqa", a.is_grouped},
                      {"stream", a.stream}};
  const ValueId y = b.call1("scaled_dot_product_attention",
                            {in.query, in.key, in.value, in.mask, a.rng}, std::move(attrs));
  return b.view(y, shape);
}

}  // namespace cleave
