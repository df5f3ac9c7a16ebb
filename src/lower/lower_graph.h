// Lowers a graph to a program. Most views need no thunk; every other node becomes a kernel, copies,
// a library call, a call of the host program's code, or thunks and jumps (drawings in program.h).
#pragma once
#include "lower/program.h"
#include "schedule/fold_form.h"

namespace cleave {

// The graph must be static and decomposed. Unsupported, naming the operator that has no lowering.
Result<LoweredProgram> lower_graph(const Graph& graph, const FoldParts& cut = {});

}  // namespace cleave
