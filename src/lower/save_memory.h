// Less memory for the same steps: what frees memory runs early (run_early.h), results lie over
// operands that nothing reads any more (reuse_dead.h).
#pragma once
#include "lower/program.h"

namespace cleave {

void save_memory(LoweredProgram& program);

}  // namespace cleave
