// Reduces the memory of a linked program: runs early what frees memory (run_early.h), lets results
// share the storages of operands that nothing reads afterwards (reuse_dead.h), and looks for a
// better order (order_thunks.h).
#pragma once
#include "lower/program.h"

namespace cleave {

// Errors: those of order_thunks.
Status save_memory(LoweredProgram& program);

}  // namespace cleave
