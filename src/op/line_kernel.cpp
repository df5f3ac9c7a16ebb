#include "op/line_kernel.h"

#include <algorithm>

#include "ir/array.h"

namespace cleave {

using loop::Expr;
using loop::Exprs;
using loop::KernelBuilder;

int64_t Line::count() const { return numel_of(extents_); }

Exprs Line::at(const Exprs& j) const {
  Exprs index = kept_;
  for (size_t d = 0; d < dims_.size(); ++d) index[dims_[d]] = j[d];
  return index;
}

Exprs Line::folded(bool keepdim) const {
  Exprs index;
  for (const Expr& i : kept_) {
    if (i.defined())
      index.push_back(i);
    else if (keepdim)
      index.emplace_back(0);
  }
  return index;
}

void Line::each(KernelBuilder& k, const std::function<void(const Exprs&)>& body) const {
  k.loops(extents_, [&](const Exprs& j) { body(at(j)); });
}

Expr Line::fold(KernelBuilder& k, loop::ReduceOp op,
                const std::function<Expr(const Exprs&)>& value) const {
  if (extents_.empty()) return k.let(value(at({})));
  return k.reduce(op, extents_, [&](const Exprs& j) { return value(at(j)); });
}

void for_each_line_in(KernelBuilder& k, const std::vector<int64_t>& shape,
                      const std::vector<int64_t>& dims,
                      const std::function<void(const Line&)>& body) {
  if (numel_of(shape) == 0) return;
  std::vector<int64_t> extents, outer, outer_dims;
  for (int64_t d = 0; d < std::ssize(shape); ++d) {
    const bool folded = std::binary_search(dims.begin(), dims.end(), d);
    (folded ? extents : outer).push_back(shape[d]);
    if (!folded) outer_dims.push_back(d);
  }
  const auto line = [&](const Exprs& i) {
    Exprs kept(shape.size());
    for (size_t d = 0; d < outer_dims.size(); ++d) kept[outer_dims[d]] = i[d];
    return Line(extents, dims, std::move(kept));
  };
  const int64_t last = std::ssize(shape) - 1;
  const bool columns =
      !dims.empty() && !outer_dims.empty() && outer_dims.back() == last && shape[last] > 1;
  if (!columns) return k.parallel(outer, [&](const Exprs& i) { body(line(i)); });
  outer.back() = (shape[last] + loop::column_lanes - 1) / loop::column_lanes;
  k.parallel(outer, [&](const Exprs& i) {
    const Expr first = k.let(i.back() * Expr(loop::column_lanes), "first");
    const Expr left = Expr(shape[last]) - first;
    k.lanes(binary(loop::Op::min, left, Expr(loop::column_lanes)), [&](Expr lane) {
      Exprs index = i;
      index.back() = first + lane;
      body(line(index));
    });
  });
}

}  // namespace cleave
