// Lifetimes of storages, and their offsets in the arena. What a loop touches and stands before it
// lives to its end.
#pragma once
#include "lower/program.h"

namespace cleave {

// Lifetimes of all storages (Storage::first and last).
MemoryBound measure_memory(LoweredProgram& program);
// The same, then offsets of all arena storages; workspaces get the lowest addresses.
Result<PlannedProgram> plan_memory(LoweredProgram program);

}  // namespace cleave
