// Restores the strides of a graph's results after a rewrite.
//
//   const ResultStrides strides(g);
//   ...                                     // a pass replaces a returned clone(%x) by %x
//   CLEAVE_CHECK(strides.restore(g, ops));  // inserts a clone again if %x has another layout
//
// A rewrite preserves a result's value, but may return another value of the graph. The layout of a
// result is part of the caller's interface; this class preserves it, so passes can ignore it.
#pragma once
#include "ir/graph.h"
#include "ir/op_def.h"

namespace cleave {

class ResultStrides {
 public:
  explicit ResultStrides(const Graph& g);
  // Another layout for entry k of return.
  void set(size_t k, std::optional<std::vector<Dim>> strides) { strides_[k] = std::move(strides); }
  // Gives results and gradients their strides again: on the value itself, or on a clone of it if
  // the value is a placeholder or is also returned with other strides. Updates have no strides of
  // their own.
  Status restore(Graph& g, const OpRegistry& ops) const;

 private:
  std::vector<std::optional<std::vector<Dim>>> strides_;  // by entry of return
};

}  // namespace cleave
