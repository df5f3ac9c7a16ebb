// Decides which calls of attention the runtime covers; others become products and a softmax.
//
//   forward    query of f32, bf16 or f16; sizes known; widths above 0
//   backward   also: key and value in equal groups, nothing broadcast over batch or heads (its
//              gradient would be a sum over the copies), sums passed as such (not as weights), in
//              f32, the result and its gradient in the query's dtype (a saved one may be cast)
#include "op/attention.h"

namespace cleave {
namespace {

bool is_covered(const AttentionView& call) {
  const DType t = call.type(0).dtype;
  if (t != DType::f32 && t != DType::bf16 && t != DType::f16) return false;
  for (int k = 0; k < 3; ++k)
    if (!call.type(k).is_static() || call.type(k).rank() != 4) return false;
  if (call.masked() && !call.op.in_type(call.mask).is_static()) return false;
  return call.type(0).shape[3].value() > 0 && call.type(2).shape[3].value() > 0;
}

bool is_broadcast(const AttentionView& call, const AttentionShape& s) {
  for (int k = 0; k < 3; ++k) {
    const Shape& shape = call.type(k).shape;
    // If query has no heads, they can't be grouped over key's heads: each has a gradient of zeros.
    const Dim group = k == 0   ? Dim(1)
                      : k == 1 ? Dim::max(s.key_group, 1)
                               : Dim::max(s.value_group, 1);
    if (shape[0] != s.batch[0] || shape[1] * group != s.batch[1]) return true;
  }
  return false;
}

loop::AttentionForm form_of(const AttentionView& call, const AttentionShape& s) {
  loop::AttentionForm f;
  f.query = call.query;
  f.mask = call.masked() ? call.mask : -1;
  f.key_group = std::max<int64_t>(s.key_group.value(), 1);  // 0 where query has no heads
  f.value_group = std::max<int64_t>(s.value_group.value(), 1);
  f.scale = call.scale();
  f.dropout_p = call.op.float_attr("dropout_p");
  f.is_causal = call.op.bool_attr("is_causal");
  if (f.dropout_p > 0) f.stream = call.op.int_attr("stream");
  return f;
}

}  // namespace

std::optional<loop::AttentionForm> attention_form(const AttentionView& call) {
  if (!is_covered(call)) return std::nullopt;
  return form_of(call, attention_shape(call));
}

std::optional<loop::AttentionForm> attention_backward_form(const AttentionView& call, int dout,
                                                           int out, int sums) {
  if (!is_covered(call) || call.op.in_type(sums).rank() != 3) return std::nullopt;
  if (call.op.in_type(sums).dtype != DType::f32) return std::nullopt;
  for (const int k : {dout, out})
    if (call.op.in_type(k).dtype != call.type(0).dtype) return std::nullopt;
  const AttentionShape s = attention_shape(call);
  if (s.key_group != s.value_group || is_broadcast(call, s)) return std::nullopt;
  loop::AttentionForm f = form_of(call, s);
  f.is_backward = true;
  f.dout = dout;
  f.out = out;
  f.sums = sums;
  return f;
}

}  // namespace cleave
