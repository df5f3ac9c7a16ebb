// Finds lifetimes of storages, and offsets in the arena. A storage that is made before a loop and
// touched in it lives to the loop's end; what a call of a job touches, as long as the job.
#pragma once
#include "lower/program.h"

namespace cleave {

// Sets the lifetimes of all storages (Storage::first and last).
MemoryBound measure_memory(LoweredProgram& program);
// The same, then offsets for all arena storages; workspaces get the lowest addresses.
Result<PlannedProgram> plan_memory(LoweredProgram program);

}  // namespace cleave
