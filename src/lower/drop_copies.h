// Calls that give an operand as it is: clones, conversions to the dtype that it has, a cat of one
// tensor, a whole slice put in place. Their readers read the operand.
//
// Found by what the call's rule computes, not by its name: element i of the result is element i of
// an operand of the same type.
#pragma once
#include "ir/graph.h"

namespace cleave {

// Static graphs, and the subgraphs that their nodes refer to. Returns how many were dropped.
int64_t drop_copies(Graph& graph);

}  // namespace cleave
