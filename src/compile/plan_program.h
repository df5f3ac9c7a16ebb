// What a graph takes in memory, without emitting or compiling anything.
#pragma once
#include "lower/program.h"
#include "runtime/library.h"

namespace cleave {

struct PlannedProgram {
  LoweredProgram lowered;
  int64_t peak_bytes() const { return lowered.arena_bytes + lowered.placeholder_bytes; }
  int64_t min_bytes() const { return lowered.arena_lower_bound + lowered.placeholder_bytes; }
};

// The functions of a lowered program's library calls, one for each, in order; adds the workspaces
// that they ask for.
Result<std::vector<runtime::LibraryFunctionPtr>> add_library(LoweredProgram& program,
                                                             runtime::LibraryCache& cache);

// Whether save_memory is done. A bound on all programs must not depend on what one of them saves.
enum class Save { nothing, memory };

// A static, prepared graph for the target of `cache`, without offsets but with what they can't be
// below. Errors: those of lowering.
Result<PlannedProgram> measure_program(const Graph& graph, runtime::LibraryCache& cache,
                                       Save save = Save::memory);
// The same with offsets.
Result<PlannedProgram> plan_program(const Graph& graph, runtime::LibraryCache& cache);

}  // namespace cleave
