#include "lower/attention_in_parts.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "op/attention_call.h"

namespace cleave {
namespace {

struct Call : AttentionCall {
  int64_t batch = 1, columns = 0, scores = 1, score_bytes = 0;
  bool is_one_kernel = false;
};

// A mask that one kernel adds to the scores, or none.
bool may_be_a_bias(const OpView& op, const Call& c) {
  if (!op.has(c.mask)) return true;
  const DType t = op.in_type(c.mask).dtype;
  return (t == DType::boolean || t == op.in_type(c.query).dtype) && !op.bool_attr("is_causal") &&
         !c.wants_mask_gradient;
}

std::optional<Call> call_of(const OpView& op) {
  const std::optional<AttentionCall> call = read_attention_call(op);
  if (!call || !call->is_inner) return {};
  Call c{*call};
  const Type &q = op.in_type(c.query), &k = op.in_type(c.query + 1), &v = op.in_type(c.query + 2);
  const auto size = [&](const Type& t, int64_t from_back) {
    return op.env().hint_of(t.shape[t.shape.size() - static_cast<size_t>(from_back)]);
  };
  const int64_t width = size(q, 1), rows = size(q, 2), columns = c.columns = size(k, 2);
  c.scores = rows * columns;
  for (size_t d = 0; d + 2 < q.shape.size(); ++d) c.scores *= op.env().hint_of(q.shape[d]);
  c.batch = q.rank() > 2 ? op.env().hint_of(q.shape[0]) : 1;
  c.score_bytes = c.scores * (q.dtype == DType::f64 ? 8 : 4);
  const auto is_width = [](int64_t n) { return n > 0 && n % 8 == 0 && n <= 256; };
  c.is_one_kernel = (q.dtype == DType::bf16 || q.dtype == DType::f16) && may_be_a_bias(op, c) &&
                    op.float_attr("dropout_p") == 0 && is_width(width) && is_width(size(v, 1)) &&
                    rows > 1 && columns > 1;
  return c;
}

// Dropout's bits follow from where a weight is in the whole call, and a mask's gradient may be a
// sum over the batch.
bool may_be_cut(const OpView& op, const Call& c) {
  if (op.float_attr("dropout_p") > 0) return false;
  for (const Dim& d : op.in_type(c.query).shape)
    if (!d.is_const()) return false;
  return !c.wants_mask_gradient;
}

// Of an operand. The first dim of a mask that has fewer dims than the query isn't the batch.
bool is_of_batch(const OpView& op, const Call& c, int k) {
  const Type& t = op.in_type(k);
  const int64_t least = k == c.mask ? op.in_type(c.query).rank() : 3;
  return t.rank() >= least && t.shape[0] == Dim(c.batch);
}

// The call with other operands and its attributes.
Values with_operands(Builder& b, const OpView& op, std::vector<CallOperand> operands) {
  NamedAttrs attrs;
  for (const auto& [arg, value] : op.attrs().given())
    attrs.emplace_back(op.def().schema.args[arg].name, value);
  return b.call(op.name(), std::move(operands), attrs);
}

// x with `more` elements of this value at the end of a dim, counted from the last one.
ValueId lengthened(Builder& b, ValueId x, size_t from_last, int64_t more, double value) {
  std::vector<int64_t> pad(2 * (from_last + 1));
  pad.back() = more;
  return b.call1("constant_pad_nd", {x}, {{"pad", pad}, {"value", value}});
}

// The mask of the call, or none, for so many more keys, which are closed.
ValueId lengthened_mask(Builder& b, const OpView& op, const Call& c, int64_t keys) {
  if (!op.has(c.mask)) {
    const ValueId column = b.call1("arange", {}, {{"end", c.columns + keys}});
    return b.unsqueeze(b.lt(column, static_cast<double>(c.columns)), 0);
  }
  ValueId mask = op.in(c.mask);
  const Type& t = op.in_type(c.mask);
  if (t.shape.back() != Dim(c.columns)) {
    Shape whole = t.shape;
    whole.back() = c.columns;
    mask = b.expand(mask, whole);
  }
  return lengthened(b, mask, 0, keys, t.dtype == DType::boolean ? 0.0 : -INFINITY);
}

}  // namespace

bool runs_in_parts(const OpView& op, const AttentionPartsLimits& limits) {
  const std::optional<Call> c = call_of(op);
  return c && !c->is_one_kernel && c->scores >= limits.least_scores &&
         c->score_bytes <= limits.most_bytes;
}

int64_t attention_slice(const OpView& op, const AttentionPartsLimits& limits) {
  const std::optional<Call> c = call_of(op);
  if (!c || c->is_one_kernel || c->score_bytes <= limits.most_bytes || !may_be_cut(op, *c))
    return 0;
  return limits.most_bytes / (c->score_bytes / c->batch);
}

Values sliced_attention(Builder& b, const OpView& op, int64_t items) {
  const Call c = *call_of(op);
  std::vector<Values> results;
  for (int64_t begin = 0; begin < c.batch; begin += items) {
    std::vector<CallOperand> operands;
    for (int k = 0; k < op.operand_count(); ++k) {
      const ValueId x = op.in(k);
      operands.emplace_back(op.has(k) && is_of_batch(op, c, k)
                                ? b.slice(x, 0, begin, std::min(begin + items, c.batch))
                                : x);
    }
    const Values of_slice = with_operands(b, op, std::move(operands));
    if (!b.status().ok()) return Values(static_cast<size_t>(op.out_count()));
    results.resize(of_slice.size());
    for (size_t r = 0; r < of_slice.size(); ++r) results[r].push_back(of_slice[r]);
  }
  Values out;
  for (const Values& r : results)
    out.push_back(r[0].valid() && b.type(r[0]).rank() > 2 ? b.cat(r, 0) : r[0]);
  return out;
}

// A causal call has no mask; dropout's bits follow from where a weight is in its row; the gradient
// of a mask with one column for all is a sum over the row.
int64_t lacking_keys(const OpView& op, const AttentionPartsLimits& limits) {
  if (!runs_in_parts(op, limits) || op.bool_attr("is_causal") || op.float_attr("dropout_p") > 0)
    return 0;
  const Call c = *call_of(op);
  const Type& key = op.in_type(c.query + 1);
  const Dim last = op.has(c.mask) ? op.in_type(c.mask).shape.back() : Dim(c.columns);
  if (last != Dim(c.columns) && c.wants_mask_gradient) return 0;
  const bool is_fixed = key.shape[key.shape.size() - 2].is_const() && last.is_const();
  const int64_t vector = 16 / size_of(key.dtype);
  return is_fixed ? (vector - c.columns % vector) % vector : 0;
}

Values padded_attention(Builder& b, const OpView& op, int64_t keys) {
  const Call c = *call_of(op);
  std::vector<CallOperand> operands;
  for (int k = 0; k < op.operand_count(); ++k) {
    if (k == c.mask)
      operands.emplace_back(lengthened_mask(b, op, c, keys));
    else if (k == c.query + 1 || k == c.query + 2)
      operands.emplace_back(lengthened(b, op.in(k), 1, keys, 0));
    else
      operands.emplace_back(op.in(k));
  }
  Values out = with_operands(b, op, std::move(operands));
  if (!b.status().ok()) return Values(static_cast<size_t>(op.out_count()));
  if (!c.is_gradient) return out;
  // Gradients of keys, values and the mask, where it has a column for each key.
  const auto shorten = [&](size_t k, size_t from_last) {
    if (k >= out.size() || !out[k].valid()) return;
    const Shape& shape = b.type(out[k]).shape;
    if (shape.size() <= from_last) return;  // one that nobody asked for has no dims
    const auto dim = static_cast<int64_t>(shape.size() - 1 - from_last);
    if (shape[static_cast<size_t>(dim)] == Dim(c.columns + keys))
      out[k] = b.slice(out[k], dim, 0, c.columns);
  };
  shorten(1, 1), shorten(2, 1), shorten(3, 0);
  return out;
}

}  // namespace cleave
