// The memory that a graph's program takes, without emitting or compiling it.
#pragma once
#include "compile/build.h"

namespace cleave {

// A lowered program with its workspaces and lifetimes; its storages have no offsets yet.
struct MeasuredProgram {
  LoweredProgram lowered;
  MemoryBound bound;
};

// Returns a function for each library call of a lowered program, in order, and adds the workspaces
// that these need as storages.
Result<LibraryFunctions> add_library(LoweredProgram& program, Backend& backend);

// Whether save_memory runs. A bound that holds for every program must not depend on it.
enum class Save { nothing, memory };

// For a static, decomposed graph and the backend's target. Errors: those of lowering.
Result<MeasuredProgram> measure_program(const Graph& graph, Backend& backend,
                                        Save save = Save::memory);
// The same, with offsets.
Result<PlannedProgram> plan_program(const Graph& graph, Backend& backend);

}  // namespace cleave
