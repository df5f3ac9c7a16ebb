// From a graph to a lowered program: views are free, every other node is one kernel, one library
// call, a call of the host program's code, or steps and jumps (drawings in program.h).
#pragma once
#include "lower/program.h"

namespace cleave {

// A static, decomposed graph. Unsupported names the operator that has no lowering.
Result<LoweredProgram> lower_graph(const Graph& graph);

}  // namespace cleave
