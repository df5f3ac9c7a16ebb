// Results lie over operands that nothing reads any more. Programs with jumps stay as they are.
#pragma once
#include "lower/program.h"

namespace cleave {

void reuse_dead(LoweredProgram& program);

}  // namespace cleave
