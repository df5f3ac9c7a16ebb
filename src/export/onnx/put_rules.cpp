// Parts of a copy of self that are written: by index tensors, masks, slices, diagonals.
#include "export/onnx/indexing.h"
#include "op/dims.h"
#include "op/mask_put.h"
#include "op/window.h"

namespace cleave::to_onnx {
namespace {

// Where one mask is true; values have one entry along the positions.
Status mask_put(Call& c) {
  int64_t first = 0;
  while (!c.op().list_has(static_cast<int>(first))) ++first;
  const Shape mask = c.op().list_type(static_cast<int>(first)).shape;
  const int64_t rank = c.rank(0), covered = static_cast<int64_t>(mask.size()),
                behind = rank - first - covered;
  Shape wide = mask;
  for (int64_t d = 0; d < behind; ++d) wide.emplace_back(1);
  const int values = c.op().operand_count() - 1;
  Shape shape = c.shape(values);
  if (static_cast<int64_t>(shape.size()) > behind) {
    const auto at = shape.end() - behind - 1;
    shape.insert(shape.erase(at), static_cast<size_t>(covered), Dim(1));
  }
  V v = c.in(values);
  if (shape != c.shape(values)) v = c.reshape(v, shape);
  if (c.op().bool_attr("accumulate")) {
    const DType t = carried(c.dtype(0));
    v = c.node("Add", {c.in(0, t), c.cast(v, t)});
    c.give(0, c.where(c.reshape(c.item(static_cast<int>(first)), wide), v, c.in(0, t)));
    return {};
  }
  c.give(0, c.where(c.reshape(c.item(static_cast<int>(first)), wide), v, c.in(0)));
  return {};
}

Status index_put(Call& c) {
  if (is_mask_put(c.op())) return mask_put(c);
  const bool adds = c.op().bool_attr("accumulate");
  const int values = c.op().operand_count() - 1;
  const DType t = adds ? carried(c.dtype(0)) : c.dtype(0);
  const Shape picked = indexed_shape(c);
  const Indexed at = indexed_first(c, picked);
  V v = c.in(values, t);
  if (c.shape(values) != picked) v = c.cast(c.expand(v, picked), t);
  const V y =
      c.node("ScatterND",
             {c.transpose(c.in(0, t), at.perm), at.positions, c.transpose(v, at.broadcast_first)},
             {text("reduction", adds ? "add" : "none")});
  c.give(0, c.transpose(y, inverse(at.perm)));
  return {};
}

// ---- parts

Status slice_scatter(Call& c) {
  const Window w = window_of(c.op());
  const DType t = c.dtype(0);
  const Dim& size = c.shape(0)[static_cast<size_t>(w.dim)];
  const V self = c.in(0), src = c.in(1, t);
  if (w.step == 1) {
    Vs parts;
    if (w.start != Dim(0)) parts.push_back(c.slice(self, w.dim, Dim(0), w.start));
    parts.push_back(src);
    const Dim end = w.start + w.size;
    if (end != size) parts.push_back(c.slice(self, w.dim, end, size));
    c.give(0, c.concat(parts, w.dim));
    return {};
  }
  const Ints front = moved_first(w.dim, c.rank(0));
  V at = c.node("Mul", {c.range(w.size), c.model().integer_number(w.step)});
  at = c.unsqueeze(c.node("Add", {at, c.sizes().scalar(w.start)}), {1});
  const V y = c.node("ScatterND", {c.transpose(self, front), at, c.transpose(src, front)});
  c.give(0, c.transpose(y, inverse(front)));
  return {};
}

Status diagonal_scatter(Call& c) {
  const int64_t rank = c.rank(0);
  const int64_t dim1 = from_front(c.op().int_attr("dim1"), rank);
  const int64_t dim2 = from_front(c.op().int_attr("dim2"), rank);
  Ints perm = {dim1, dim2};
  for (int64_t d = 0; d < rank; ++d)
    if (d != dim1 && d != dim2) perm.push_back(d);
  const V src = c.transpose(c.in(1, c.dtype(0)), moved_first(rank - 2, rank - 1));
  const V at = diagonal_positions(c, c.shape(1).back(), c.op().int_attr("offset"));
  const V y = c.node("ScatterND", {c.transpose(c.in(0), perm), at, src});
  c.give(0, c.transpose(y, inverse(perm)));
  return {};
}

// The n-th true position takes element n of source: n counts the true ones up to it.
Status masked_scatter(Call& c) {
  if (is_empty(c.shape(2))) return c.refused("its source is empty");
  const Shape& shape = c.result(0).shape;
  const V mask = c.expand(c.in(1), shape);
  const V one = c.model().integer_number(1);
  const V counted =
      c.node("CumSum", {c.flat(c.cast(mask, DType::i64)), c.model().integer_number(0)});
  V at = c.node("Sub", {counted, one});
  at = c.node("Min", {c.node("Max", {at, c.model().integer_number(0)}),
                      c.sizes().scalar(c.op().in_type(2).numel() - Dim(1))});
  const V picked = c.reshape(c.gather(c.flat(c.in(2)), at, 0), shape);
  c.give(0, c.where(mask, picked, c.in(0)));
  return {};
}

constexpr RuleEntry rules[] = {{"index_put", index_put},
                               {"slice_scatter", slice_scatter},
                               {"diagonal_scatter", diagonal_scatter},
                               {"masked_scatter", masked_scatter}};

}  // namespace

std::span<const RuleEntry> put_rules() { return rules; }

}  // namespace cleave::to_onnx
