// What a graph takes in memory, without emitting or compiling anything.
#pragma once
#include "lower/program.h"
#include "runtime/library.h"

namespace cleave {

// A lowered program with its workspaces and lifetimes, whose storages have no places yet.
struct MeasuredProgram {
  LoweredProgram lowered;
  MemoryBound bound;
};

// The functions of a lowered program's library calls, one for each, in order; adds the workspaces
// that they ask for.
Result<std::vector<runtime::LibraryFunctionPtr>> add_library(LoweredProgram& program,
                                                             runtime::LibraryCache& cache);

// Whether save_memory is done. A bound on all programs must not depend on what one of them saves.
enum class Save { nothing, memory };

// A static, prepared graph for the target of `cache`. Errors: those of lowering.
Result<MeasuredProgram> measure_program(const Graph& graph, runtime::LibraryCache& cache,
                                        Save save = Save::memory);
// The same with places.
Result<PlannedProgram> plan_program(const Graph& graph, runtime::LibraryCache& cache);

}  // namespace cleave
