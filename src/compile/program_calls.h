// What each call of a lowered program reads, makes and needs, as src/remat sees it.
#pragma once
#include "lower/program.h"
#include "remat/program_tasks.h"

namespace cleave {

// `program` is the lowered `graph`, with updates in place and the workspaces of library calls.
ProgramCalls program_calls(const Graph& graph, const LoweredProgram& program);

}  // namespace cleave
