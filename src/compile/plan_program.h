// What a graph takes in memory, without emitting or compiling anything.
#pragma once
#include "compile/build.h"

namespace cleave {

// A lowered program with its workspaces and lifetimes, whose storages have no places yet.
struct MeasuredProgram {
  LoweredProgram lowered;
  MemoryBound bound;
};

// The functions of a lowered program's library calls, one for each, in order; adds the workspaces
// that they ask for.
Result<LibraryFunctions> add_library(LoweredProgram& program, Backend& backend);

// Whether save_memory is done. A bound on all programs must not depend on what one of them saves.
enum class Save { nothing, memory };

// A static, prepared graph for the backend's target. Errors: those of lowering.
Result<MeasuredProgram> measure_program(const Graph& graph, Backend& backend,
                                        Save save = Save::memory);
// The same with places.
Result<PlannedProgram> plan_program(const Graph& graph, Backend& backend);

}  // namespace cleave
