// A slice of a call's result as the same call of slices: which operands are sliced, and along which
// dims.
#pragma once
#include <optional>

#include "ir/builder.h"

namespace cleave {

// A call of slice or select: a part of the operand along one of its dims.
struct SliceOf {
  int64_t dim = 0;
  Dim size;  // of the dim, sliced; 1 of a select
  bool is_select = false;
  AttrValue start, end, step;

  // The same part of another value, along a dim of the same size; the dim stays.
  ValueId take(Builder& b, ValueId v, int64_t of_dim) const;
};

// nullopt: it takes more than half of the dim, so that little is gained, or it isn't known what.
std::optional<SliceOf> slice_of(const Graph& g, NodeId n);

// A call whose result can be sliced by slicing what it reads.
struct SlicePath {
  NodeId node;
  std::vector<int64_t> dims;  // of each operand, which is sliced along it; -1: it stays
  std::optional<Shape> size;  // the attribute of that name then
  // A view [b, t, n] of a product [b*t, n] of a view [b*t, k] of `rows`, [b, t, k].
  NodeId product;
  ValueId rows = ValueId::none();

  // Adds the call, and returns its results; `slices` are the calls that slice its operands.
  Values write(Builder& b, const SliceOf& slice, std::vector<NodeId>& slices) const;
};

// The slice is of the call's first result. nullopt: it has to be computed as a whole.
std::optional<SlicePath> slice_path(const Graph& g, NodeId call, const SliceOf& slice);

}  // namespace cleave
