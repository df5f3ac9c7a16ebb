// What each node of a lowered program reads, makes and needs: the cut's view of a whole program.
#pragma once
#include "lower/program.h"
#include "remat/step_tasks.h"

namespace cleave {

// `program` is what lowering made of `graph`, with updates in place and workspaces of products.
StepProgram step_program(const Graph& graph, const LoweredProgram& program);

}  // namespace cleave
