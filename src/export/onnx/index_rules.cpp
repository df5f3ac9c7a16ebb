// Elements picked by index tensors.
#include "export/onnx/indexing.h"
#include "op/dims.h"

namespace cleave::to_onnx {

Indexed indexed_first(Call& c, const Shape& picked) {
  Indexed out;
  const int64_t rank = c.rank(0);
  int64_t broadcast = 0;
  for (int k = 0; k < c.op().list_size(); ++k)
    if (c.op().list_has(k)) broadcast = std::max(broadcast, c.op().list_type(k).rank());
  out.plan = plan_index(c.op(), rank, broadcast);
  for (int64_t d = 0; d < rank; ++d)
    if (out.plan.tensor_of[static_cast<size_t>(d)] >= 0) out.perm.push_back(d);
  const size_t indexed = out.perm.size();
  for (int64_t d = 0; d < rank; ++d)
    if (out.plan.tensor_of[static_cast<size_t>(d)] < 0) out.perm.push_back(d);
  const Shape shape = out.plan.broadcast_part(picked);
  Vs parts;
  for (size_t k = 0; k < indexed; ++k) {
    const int item = out.plan.tensor_of[static_cast<size_t>(out.perm[k])];
    V v = c.cast(c.item(item), DType::i64);
    if (c.op().list_type(item).shape != shape) v = c.expand(v, shape);
    parts.push_back(c.unsqueeze(v, {-1}));
  }
  out.positions = c.concat(parts, -1);
  const auto total = static_cast<int64_t>(picked.size());
  for (int64_t d = 0; d < broadcast; ++d) out.broadcast_first.push_back(out.plan.first + d);
  for (int64_t d = 0; d < total; ++d)
    if (d < out.plan.first || d >= out.plan.first + broadcast) out.broadcast_first.push_back(d);
  return out;
}

Shape indexed_shape(const Call& c) {
  Type t = value_or_bug(indexed_type(c.op()));
  return t.shape;
}

namespace {

// A 0-d tensor as one of one element.
V with_dim(Call& c, const V& x, int64_t rank) { return rank == 0 ? c.reshape(x, {Dim(1)}) : x; }

Status gather(Call& c) {
  const int64_t dim = from_front(c.op().int_attr("dim"), c.rank(0));
  const V x = with_dim(c, c.in(0), c.rank(0)), index = with_dim(c, c.in(1), c.rank(1));
  const V y = c.node("GatherElements", {x, index}, {integer("axis", dim)});
  c.give(0, c.result(0).rank() == 0 ? c.reshape(y, {})
            : c.rank(1) == 0        ? c.reshape(y, c.result(0).shape)
                                    : y);
  return {};
}

Status index_select(Call& c) {
  const int64_t dim = from_front(c.op().int_attr("dim"), c.rank(0));
  const V y = c.gather(with_dim(c, c.in(0), c.rank(0)), with_dim(c, c.in(1), c.rank(1)), dim);
  c.give(0, c.rank(0) == 0 ? c.reshape(y, {}) : y);
  return {};
}

Status embedding(Call& c) {
  c.give(0, c.gather(c.in(0), c.in(1), 0));
  return {};
}

Status index(Call& c) {
  int given = 0, last = 0;
  for (int k = 0; k < c.op().list_size(); ++k)
    if (c.op().list_has(k)) ++given, last = k;
  if (given == 1) {
    c.give(0, c.gather(c.in(0), c.item(last), last));
    return {};
  }
  const Indexed at = indexed_first(c, c.result(0).shape);
  const V y = c.node("GatherND", {c.transpose(c.in(0), at.perm), at.positions});
  c.give(0, c.transpose(y, inverse(at.broadcast_first)));
  return {};
}

constexpr RuleEntry rules[] = {
    {"gather", gather}, {"index_select", index_select}, {"embedding", embedding}, {"index", index}};

}  // namespace

std::span<const RuleEntry> index_rules() { return rules; }

}  // namespace cleave::to_onnx
