// The parts of attention that are emitted into a graph: decompositions and gradients. bf16 and f16
// operands are converted to f32 first, as PyTorch does: a score rounded to 8 bits would give a
// weight that is off by percents.
#include <cmath>

#include "op/attention.h"

namespace cleave {
namespace {

ValueId viewed(Builder& b, ValueId x, const Shape& shape) {
  if (!b.status().ok() || b.type(x).shape == shape) return x;
  return b.view(x, shape);
}

// Splits [..., h, r, c] into [..., h, group, r, c]; returns the sizes of the former.
Shape split_heads(const Shape& operand, const Dim& group) {
  Shape split = operand;
  split.insert(split.end() - 2, group);
  return split;
}

Shape merged(const Shape& shape) {
  Dim n = 1;
  for (size_t d = 0; d + 2 < shape.size(); ++d) n = n * shape[d];
  return {n, shape[shape.size() - 2], shape.back()};
}

}  // namespace

ValueId flat_operand(Builder& b, const AttentionShape& s, ValueId x, const Dim& group, DType work) {
  x = b.convert(x, work);
  if (!b.status().ok()) return x;
  Shape shape = b.type(x).shape;
  if (group != Dim(1)) {
    const int64_t at = std::ssize(shape) - 2;
    x = b.expand(b.unsqueeze(x, at), split_heads(shape, group));
    shape[at - 1] = shape[at - 1] * group;
    x = viewed(b, x, shape);
  }
  const Shape whole = s.with(shape[shape.size() - 2], shape.back());
  if (shape != whole) x = b.expand(x, whole);
  return viewed(b, x, merged(whole));
}

ValueId from_flat(Builder& b, const AttentionShape& s, ValueId g, const Dim& group,
                  const Type& operand) {
  if (!b.status().ok()) return g;
  const Shape flat = b.type(g).shape;
  g = viewed(b, g, s.with(flat[1], flat[2]));
  Shape copied = operand.shape;
  if (group != Dim(1)) copied[copied.size() - 3] = copied[copied.size() - 3] * group;
  g = b.sum_to(g, copied);
  if (group != Dim(1))
    g = b.sum(viewed(b, g, split_heads(operand.shape, group)), {operand.rank() - 2});
  return b.convert(g, operand.dtype);
}

ValueId with_batch(Builder& b, const AttentionShape& s, ValueId x) {
  if (!b.status().ok()) return x;
  const Shape flat = b.type(x).shape;
  return viewed(b, x, s.with(flat[1], flat[2]));
}

ValueId without_batch(Builder& b, ValueId x) {
  if (!b.status().ok()) return x;
  return viewed(b, x, merged(b.type(x).shape));
}

ValueId masked_scores(Builder& b, const AttentionView& call, const AttentionShape& s, ValueId query,
                      ValueId key, ScoresFor use) {
  const OpView& op = call.op;
  const double closed = -INFINITY;
  const bool is_scaled_later = use == ScoresFor::backward;
  const ValueId scaled = is_scaled_later ? query : b.mul(query, call.scale());
  ValueId scores = with_batch(b, s, b.bmm(scaled, b.permute(key, {0, 2, 1})));
  if (is_scaled_later) scores = b.mul(scores, call.scale());
  if (op.bool_attr("is_causal")) {
    const ValueId row = b.unsqueeze(b.call1("arange", {}, {{"end", s.rows}}), 1);
    const ValueId column = b.unsqueeze(b.call1("arange", {}, {{"end", s.columns}}), 0);
    scores = b.where(b.le(column, row), scores, closed);
  }
  if (!call.masked()) return scores;
  const ValueId mask = op.in(call.mask);
  if (op.in_type(call.mask).dtype == DType::boolean) return b.where(mask, scores, closed);
  return b.add(scores, b.convert(mask, call.work()));
}

AttentionParts attention_parts(Builder& b, const AttentionView& call, ScoresFor use) {
  AttentionParts p{attention_shape(call), {}, {}, {}, {}};
  p.query = flat_operand(b, p.shape, call.op.in(call.query), 1, call.work());
  p.key = flat_operand(b, p.shape, call.op.in(call.query + 1), p.shape.key_group, call.work());
  p.value = flat_operand(b, p.shape, call.op.in(call.query + 2), p.shape.value_group, call.work());
  p.scores = masked_scores(b, call, p.shape, p.query, p.key, use);
  return p;
}

DType product_dtype(const AttentionView& call, const AttentionShape& s) {
  const DType own = call.type(0).dtype;
  return size_of(own) == 2 && s.key_group == Dim(1) && s.value_group == Dim(1) ? own : call.work();
}

ValueId factor(Builder& b, const AttentionView& call, const AttentionParts& p, int k, DType t) {
  if (t == call.work()) return k == 0 ? p.query : k == 1 ? p.key : p.value;
  return flat_operand(b, p.shape, call.op.in(call.query + k), 1, t);
}

ValueId closed_rows(Builder& b, ValueId scores) {
  const ValueId open = b.ne(scores, -INFINITY);
  return b.logical_not(b.call1("any", {open}, {{"dim", -1}, {"keepdim", true}}));
}

// Without a mask each row has an open column: with is_causal, the first column is open to all rows.
ValueId attention_weights(Builder& b, const AttentionView& call, ValueId scores) {
  const ValueId weights = b.call1("_softmax", {scores}, {{"dim", -1}, {"half_to_float", false}});
  return call.masked() ? b.where(closed_rows(b, scores), 0.0, weights) : weights;
}

ValueId whole_mask(Builder& b, ValueId mask, Shape scores, DType work) {
  mask = b.convert(mask, work);
  if (!b.status().ok()) return mask;
  const Type& m = b.type(mask);
  if (m.rank() < 4 || m.shape[0] == Dim(1)) scores[0] = 1;
  return m.shape == scores ? mask : b.expand(mask, scores);
}

// A closed row counts as having a sum of 1 and a maximum of 0.
ValueId log_sums(Builder& b, ValueId scores) {
  if (!b.status().ok()) return ValueId::none();
  const Type t = b.type(scores);
  if (b.graph().env().provably_equal(t.shape.back(), 0))
    return b.full(Shape(t.shape.begin(), t.shape.end() - 1), 0.0, t.dtype);
  const ValueId closed = closed_rows(b, scores);
  const ValueId top = b.where(closed, 0.0, b.amax(scores, {-1}, true));
  const ValueId sum = b.sum(b.exp(b.sub(scores, top)), {-1}, true);
  return b.squeeze(b.add(b.log(b.where(closed, 1.0, sum)), top), {-1});
}

}  // namespace cleave
