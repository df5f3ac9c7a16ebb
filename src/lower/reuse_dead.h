// Lets a result share the storage of an operand that nothing reads afterwards. Programs with jumps
// stay as they are.
#pragma once
#include "lower/program.h"

namespace cleave {

void reuse_dead(LoweredProgram& program);

}  // namespace cleave
