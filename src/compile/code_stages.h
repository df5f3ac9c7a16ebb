// The stages from a graph as it is to run to code, each a function of what the one before it has
// made (build.h). build_program of stages.h calls them, in this order, and nothing else does.
#pragma once
#include "compile/build.h"

namespace cleave {

// Each kernel is verified.
Result<LoweredProgram> lower(const Graph& graph);
// Results over operands, updates in place, steps in the order that takes the least memory.
Result<LoweredProgram> lay_in_place(LoweredProgram program);
// Kernels are those that run, each verified; calls pass the numbers that shared ones take.
Result<ScheduledProgram> schedule_kernels(LoweredProgram program, const Backend& backend);
Result<EmittedProgram> emit_kernels(ScheduledProgram program, const Backend& backend);
Result<LinkedProgram> link_library(EmittedProgram program, Backend& backend);
Result<PlacedProgram> place_storages(LinkedProgram program);
// Units are compiled side by side on the executor.
Result<BuiltProgram> build_code(PlacedProgram program,
                                const std::shared_ptr<const Backend>& backend, Executor& executor);

}  // namespace cleave
