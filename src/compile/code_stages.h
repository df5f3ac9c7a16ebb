// The stages from the final graph to code. Each takes what the one before it made (build.h); only
// build_program (stages.h) calls them, in this order.
#pragma once
#include "compile/build.h"

namespace cleave {

// Verifies each kernel.
Result<LoweredProgram> lower(const Graph& graph);
// Drops redundant checks, writes updates in place, and reuses memory (save_memory.h).
Result<LoweredProgram> lay_in_place(LoweredProgram program);
// Replaces the kernels by scheduled ones, which are verified, and appends the numbers that a shared
// kernel takes to the scalars of its calls.
Result<ScheduledProgram> schedule_kernels(LoweredProgram program, const Backend& backend);
Result<EmittedProgram> emit_kernels(ScheduledProgram program, const Backend& backend);
Result<LinkedProgram> link_library(EmittedProgram program, Backend& backend);
Result<PlacedProgram> place_storages(LinkedProgram program);
// Compiles the units in parallel on the executor.
Result<BuiltProgram> build_code(PlacedProgram program,
                                const std::shared_ptr<const Backend>& backend, Executor& executor);

}  // namespace cleave
