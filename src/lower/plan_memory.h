// Lifetimes of storages, and their offsets in the arena. What a loop touches and stands before it
// lives to its end.
#pragma once
#include "lower/program.h"

namespace cleave {

// Lifetimes, then offsets of all arena storages; workspaces get the lowest addresses.
Status plan_memory(LoweredProgram& program);

// Lifetimes, placeholder_bytes and arena_lower_bound alone: plan_memory's arena is no smaller.
void measure_memory(LoweredProgram& program);

}  // namespace cleave
