// The strides of what a graph returns, as they were before a rewrite.
//
//   const ResultStrides strides(g);
//   ...                                     // a pass puts %x in the place of a returned clone(%x)
//   CLEAVE_CHECK(strides.restore(g, ops));  // and a clone again, where %x lies otherwise
//
// A rewrite keeps a result's value, and what it returns may be another value of the graph. How that
// lies in memory is the caller's, and no pass has to think of it.
#pragma once
#include "ir/graph.h"
#include "ir/op_def.h"

namespace cleave {

class ResultStrides {
 public:
  explicit ResultStrides(const Graph& g);
  // Gives results and gradients their strides again: on the value itself, or on a clone of it where
  // the value is a placeholder, or returned with other strides too. Updates have none of their own.
  Status restore(Graph& g, const OpRegistry& ops) const;

 private:
  std::vector<std::optional<std::vector<Dim>>> strides_;  // by entry of return
};

}  // namespace cleave
