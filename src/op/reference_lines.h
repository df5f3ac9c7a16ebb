// Shared by the reference rules of reductions and data movement: iteration over index space, and
// the conversion of one element. Inference, gradients and lowering use nothing of this header.
//
//   for_each_line({2,3}, {1}, f)    f(0, {0,1,2}), f(1, {3,4,5}): the positions that fold into each
//                                   element of the result, both row-major
//   moved(x, shape, from)           out[index] = x[from(index)], fill where from gives -1
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "ir/array.h"
#include "ir/op_view.h"

namespace cleave {

// The attribute `dim` (a number, a list, none) as a mask over the dims of x; none means all dims.
inline std::vector<bool> folded_dims(const OpView& op, const Array& x) {
  const int64_t rank = x.rank();
  std::vector<int64_t> dims = op.ints_attr("dim");
  if (op.attr("dim").is_int()) dims = {op.int_attr("dim")};
  std::vector<bool> mask(static_cast<size_t>(rank), dims.empty());
  for (int64_t d : dims)
    if (rank > 0) mask[static_cast<size_t>(d < 0 ? d + rank : d)] = true;
  return mask;
}

inline std::vector<bool> folded_dim(int64_t dim, int64_t rank) {
  std::vector<bool> mask(static_cast<size_t>(rank), false);
  if (rank > 0) mask[static_cast<size_t>(dim < 0 ? dim + rank : dim)] = true;
  return mask;
}

inline std::vector<int64_t> kept_shape(const std::vector<int64_t>& shape,
                                       const std::vector<bool>& folded, bool keepdim) {
  std::vector<int64_t> out;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (!folded[d])
      out.push_back(shape[d]);
    else if (keepdim)
      out.push_back(1);
  }
  return out;
}

// Calls f(k, positions) for each element k of the folded result.
template <class F>
void for_each_line(const std::vector<int64_t>& shape, const std::vector<bool>& folded, F f) {
  std::vector<int64_t> outer = shape, inner = shape;
  for (size_t d = 0; d < shape.size(); ++d) (folded[d] ? outer : inner)[d] = 1;
  const std::vector<int64_t> strides = row_major(shape);
  const auto position = [&](const std::vector<int64_t>& index) {
    int64_t at = 0;
    for (size_t d = 0; d < index.size(); ++d) at += index[d] * strides[d];
    return at;
  };
  const auto all = [&](const std::vector<int64_t>& extents, auto visit) {
    if (numel_of(extents) == 0) return;
    std::vector<int64_t> index(extents.size(), 0);
    do visit(position(index));
    while (next_index(index, extents));
  };
  std::vector<int64_t> offsets, line;
  all(inner, [&](int64_t at) { offsets.push_back(at); });
  int64_t k = 0;
  all(outer, [&](int64_t base) {
    line = offsets;
    for (int64_t& at : line) at += base;
    f(k++, line);
  });
}

// Returns whether element a of x, and not b, is the largest (or smallest): NaN comes before
// numbers; of equal elements b wins, as the first.
inline bool beats(const Array& x, int64_t a, int64_t b, bool largest) {
  if (!x.floating()) return largest ? x.i[a] > x.i[b] : x.i[a] < x.i[b];
  if (std::isnan(x.f[b])) return false;
  return std::isnan(x.f[a]) || (largest ? x.f[a] > x.f[b] : x.f[a] < x.f[b]);
}

// out[index] = x[from(index)] over `shape`; -1 leaves the element of `out` unchanged.
template <class From>
void move_into(Array& out, const Array& x, From from) {
  if (out.numel() == 0) return;
  std::vector<int64_t> index(out.shape.size(), 0);
  int64_t k = 0;
  do {
    const int64_t at = from(index);
    if (at >= 0 && x.floating())
      out.set(k, x.f[at]);
    else if (at >= 0)
      out.set_int(k, x.i[at]);
    ++k;
  } while (next_index(index, out.shape));
}

template <class From>
Array moved(const Array& x, std::vector<int64_t> shape, From from) {
  Array out(x.dtype, std::move(shape));
  move_into(out, x, from);
  return out;
}

inline int64_t position_of(const std::vector<int64_t>& index, const std::vector<int64_t>& shape) {
  int64_t at = 0;
  for (size_t d = 0; d < shape.size(); ++d) at = at * shape[d] + index[d];
  return at;
}

// Converts x to `t`: floating to integer truncates, to bool is x != 0, to bf16 and f16 rounds.
inline Array converted_array(const Array& x, DType t) {
  Array out(t, x.shape);
  for (int64_t k = 0; k < x.numel(); ++k) {
    if (out.floating())
      out.f[k] = t == DType::f32 ? x.number(k) : round_to(t, x.number(k));
    else if (t == DType::boolean)
      out.i[k] = x.number(k) != 0;
    else if (x.floating())
      out.i[k] = truncate_to(t, x.f[k]);
    else
      out.i[k] = wrap_to(t, x.i[k]);
  }
  return out;
}

}  // namespace cleave
