// The stages from the final graph to code. Each takes what the one before it made (build.h); only
// build_program (stages.h) calls them, in this order.
#pragma once
#include "compile/build.h"
#include "compile/code_pool.h"
#include "lower/lower_choices.h"

namespace cleave {

// Verifies each kernel.
Result<LoweredProgram> lower(const Graph& graph, const LowerChoices& choices);
// Gives each library call its function, and a workspace if that needs one.
Result<LoweredProgram> link_library(LoweredProgram program, Backend& backend);
// Whether save_memory runs. A bound that holds for every program must not depend on it.
enum class Save { nothing, memory };
// Drops redundant checks, writes updates in place, and saves memory (save_memory.h).
Result<LoweredProgram> lay_in_place(LoweredProgram program, const Backend& backend,
                                    Save save = Save::memory);
// Brings the arena within `room` bytes by values that lie in the host's memory for a while
// (offload.h). Error (bug): it can't be; the remat stage has found that it can.
Result<LoweredProgram> bring_within(LoweredProgram program, int64_t room, const Backend& backend);
// Replaces the kernels by scheduled ones, which are verified, and appends the numbers that a shared
// kernel takes to the scalars of its calls. Functions are the pool's, if it isn't null.
Result<ScheduledProgram> schedule_kernels(LoweredProgram program, const Backend& backend,
                                          CodePool* pool);
Result<EmittedProgram> emit_kernels(ScheduledProgram program, const Backend& backend,
                                    CodePool* pool);
Result<PlacedProgram> place_storages(EmittedProgram program);
// Compiles the units in parallel on the executor; those of the pool that it has, it has compiled.
Result<BuiltProgram> build_code(PlannedProgram planned, EmittedCode& code,
                                const std::shared_ptr<Backend>& backend, CodePool* pool,
                                Executor& executor, cache::Store* cache);

}  // namespace cleave
