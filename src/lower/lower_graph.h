// Lowers a graph to a program. Most views need no thunk; every other node becomes a kernel, copies,
// a library call, a call of the host program's code, or thunks and jumps (drawings in program.h).
#pragma once
#include "lower/lower_choices.h"
#include "lower/program.h"

namespace cleave {

// The graph must be static and decomposed. Unsupported, naming the operator that has no lowering.
Result<LoweredProgram> lower_graph(const Graph& graph, const LowerChoices& choices = {});

}  // namespace cleave
