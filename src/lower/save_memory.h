// Reduces the memory of a program: runs early what frees memory (run_early.h), and lets results
// share the storages of operands that nothing reads afterwards (reuse_dead.h).
#pragma once
#include "lower/program.h"

namespace cleave {

void save_memory(LoweredProgram& program);

}  // namespace cleave
