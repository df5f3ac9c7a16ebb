// The memory that a graph's program takes, without emitting or compiling it.
#pragma once
#include "compile/code_stages.h"

namespace cleave {

// A lowered program with its workspaces and lifetimes; its storages have no offsets yet.
struct MeasuredProgram {
  LoweredProgram lowered;
  MemoryBound bound;
};

// For a static, decomposed graph and the backend's target. Errors: those of lowering.
Result<MeasuredProgram> measure_program(const Graph& graph, Backend& backend,
                                        Save save = Save::memory);
// The same, with offsets.
Result<PlannedProgram> plan_program(const Graph& graph, Backend& backend);

}  // namespace cleave
