// The gradient of a table that something else reads too is added to where that one's lies:
//
//   add(a, embedding_dense_backward(g, i))    ->    index_add(a, i, g; dim=0)
//
// Saves a table of zeros and two passes over it. Sums are added in another order, in every program
// alike. Only for f32 and f64, whose partial sums aren't rounded further, and for a gradient that
// nothing else reads.
#pragma once
#include "ir/graph.h"
#include "ir/op_def.h"

namespace cleave {

// And in the subgraphs that nodes refer to. Returns how many were changed.
Result<int64_t> add_rows_in_place(Graph& graph, const OpRegistry& ops);

}  // namespace cleave
