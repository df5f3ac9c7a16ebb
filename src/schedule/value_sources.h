// The source of each value of a group: a call of the group, a buffer of the kernel, or from some
// point on a variable (the result of a fold) or a buffer in which it was kept.
#pragma once
#include <unordered_map>
#include <unordered_set>

#include "ir/graph.h"
#include "loop/kernel_builder.h"

namespace cleave {

class ValueSources {
 public:
  ValueSources(const Graph& graph, const std::vector<NodeId>& nodes);

  // The value is also stored.
  void add_use(ValueId v) { ++uses_[v.v]; }
  // Whether it has several uses: reads by calls of the group, and being stored.
  bool is_shared(ValueId v) const;

  // A value from outside the group, in a buffer of the kernel.
  void bind(ValueId v, loop::Bound at) { outside_.emplace(v.v, std::move(at)); }
  const loop::Bound& outside(ValueId v) const { return outside_.at(v.v); }
  // The call of the group that computes it; invalid if it is from outside.
  NodeId call(ValueId v) const;

  // From here on the fold's result is this variable, at this index only.
  struct Folded {
    loop::Exprs index;
    loop::Expr variable;
  };
  void set_folded(ValueId v, Folded folded) { folded_[v.v] = std::move(folded); }
  const Folded* folded(ValueId v) const;
  // From here on the value is read from the buffer, at this index only.
  struct Kept {
    loop::Exprs index;
    int64_t buffer;
    DType dtype;
    loop::Expr at;
  };
  void set_kept(ValueId v, Kept kept) { kept_[v.v] = std::move(kept); }
  const Kept* kept(ValueId v) const;
  // From here on the value is read from the buffer, in which all elements of this row are.
  struct KeptRow {
    loop::Expr row;
    int64_t length;
    int64_t buffer;
    DType dtype;
  };
  void set_kept_row(ValueId v, KeptRow kept) { kept_rows_[v.v] = std::move(kept); }
  const KeptRow* kept_row(ValueId v) const;

 private:
  const Graph& graph_;
  std::unordered_set<uint32_t> nodes_;
  std::unordered_map<uint32_t, uint32_t> uses_;
  std::unordered_map<uint32_t, loop::Bound> outside_;
  std::unordered_map<uint32_t, Folded> folded_;
  std::unordered_map<uint32_t, Kept> kept_;
  std::unordered_map<uint32_t, KeptRow> kept_rows_;
};

}  // namespace cleave
