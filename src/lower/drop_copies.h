// Drops calls that return an operand unchanged: clones, conversions to the dtype that it has, a cat
// of one tensor, a slice_scatter of the whole. Their readers read the operand.
//
// They are found by what the call's lowering rule computes, not by name: element i of the result is
// element i of an operand of the same type.
#pragma once
#include "ir/graph.h"

namespace cleave {

// Static graphs, and the subgraphs that their nodes refer to. Returns how many were dropped.
int64_t drop_copies(Graph& graph);

}  // namespace cleave
