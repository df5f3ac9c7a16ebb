// Views that read elements by arithmetic: with strides, diagonals, windows. Each is a Gather by
// positions that are constants, or computed from sizes.
#include "export/onnx/rules.h"
#include "op/dims.h"
#include "op/im2col.h"

namespace cleave::to_onnx {
namespace {

// index * factor + offset, of i64.
V scaled(Call& c, V index, const Dim& factor, const Dim& offset) {
  if (factor != Dim(1)) index = c.node("Mul", {index, c.sizes().scalar(factor)});
  if (offset != Dim(0)) index = c.node("Add", {index, c.sizes().scalar(offset)});
  return index;
}

// [rows, columns]: row * row_step + column * column_step + offset.
V grid(Call& c, const Dim& rows, const Dim& columns, int64_t row_step, int64_t column_step,
       int64_t offset) {
  const V down = c.unsqueeze(scaled(c, c.range(rows), Dim(row_step), Dim(offset)), {1});
  const V right = c.unsqueeze(scaled(c, c.range(columns), Dim(column_step), Dim(0)), {0});
  return c.node("Add", {down, right});
}

Status as_strided(Call& c) {
  const Shape size = c.op().dims_attr("size"), stride = c.op().dims_attr("stride");
  const auto rank = static_cast<int64_t>(size.size());
  const AttrValue& given = c.op().attr("storage_offset");
  V at = c.sizes().scalar(given.is_none() ? Dim(0) : c.op().dim_attr("storage_offset"));
  for (int64_t d = 0; d < rank; ++d) {
    const auto k = static_cast<size_t>(d);
    V along = scaled(c, c.range(size[k]), stride[k], Dim(0));
    Ints behind;
    for (int64_t e = 1; e < rank - d; ++e) behind.push_back(e);
    if (!behind.empty()) along = c.unsqueeze(along, behind);
    at = c.node("Add", {at, along});
  }
  c.give(0, c.gather(c.flat(c.in(0)), at, 0));
  return {};
}

Status diagonal(Call& c) {
  const int64_t rank = c.rank(0), offset = c.op().int_attr("offset");
  const int64_t dim1 = from_front(c.op().int_attr("dim1"), rank);
  const int64_t dim2 = from_front(c.op().int_attr("dim2"), rank);
  Ints perm = {dim1, dim2};
  for (int64_t d = 0; d < rank; ++d)
    if (d != dim1 && d != dim2) perm.push_back(d);
  const V at = diagonal_positions(c, c.result(0).shape.back(), offset);
  const V y = c.node("GatherND", {c.transpose(c.in(0), perm), at});
  c.give(0, c.transpose(y, moved_last(0, rank - 1)));
  return {};
}

Status unfold(Call& c) {
  const int64_t size = c.op().int_attr("size"), step = c.op().int_attr("step");
  if (c.rank(0) == 0) {
    c.give(0, c.slice(c.reshape(c.in(0), {Dim(1)}), 0, Dim(0), Dim(size)));
    return {};
  }
  const int64_t dim = from_front(c.op().int_attr("dimension"), c.rank(0));
  const Dim windows = c.result(0).shape[static_cast<size_t>(dim)];
  const V y = c.gather(c.in(0), grid(c, windows, Dim(size), step, 1, 0), dim);
  c.give(0, c.transpose(y, moved_last(dim + 1, c.rank(0) + 1)));
  return {};
}

// Each spatial dim becomes two: the position in the kernel, and the window.
Status im2col(Call& c) {
  const Windows w = windows_of(c.op());
  const auto spatial = static_cast<int64_t>(w.rank()), lead = c.rank(0) - spatial;
  V x = c.carried(0);
  Ints pads;
  for (int64_t side = 0; side < 2; ++side)
    for (int64_t d = 0; d < c.rank(0); ++d)
      pads.push_back(d < lead ? 0 : w.padding[static_cast<size_t>(d - lead)]);
  x = c.node("Pad", {x, c.model().list(pads), c.number(0, x.dtype)});
  Ints perm;
  for (int64_t d = 0; d < lead; ++d) perm.push_back(d);
  for (int64_t d = 0; d < spatial; ++d) perm.push_back(lead + 2 * d);
  for (int64_t d = 0; d < spatial; ++d) {
    const auto k = static_cast<size_t>(d);
    const Dim windows = w.count(c.shape(0)[static_cast<size_t>(lead + d)], k);
    x = c.gather(x, grid(c, Dim(w.kernel[k]), windows, w.dilation[k], w.stride[k], 0),
                 lead + 2 * d);
    perm.push_back(lead + 2 * d + 1);
  }
  c.give(0, c.reshape(c.transpose(x, perm), c.result(0).shape));
  return {};
}

constexpr RuleEntry rules[] = {
    {"as_strided", as_strided}, {"diagonal", diagonal}, {"unfold", unfold}, {"im2col", im2col}};

}  // namespace

V diagonal_positions(Call& c, const Dim& size, int64_t offset) {
  const V along = c.range(size);
  const V row = scaled(c, along, Dim(1), Dim(offset < 0 ? -offset : 0));
  const V column = scaled(c, along, Dim(1), Dim(offset > 0 ? offset : 0));
  return c.concat({c.unsqueeze(row, {1}), c.unsqueeze(column, {1})}, 1);
}

std::span<const RuleEntry> view_rules() { return rules; }

}  // namespace cleave::to_onnx
