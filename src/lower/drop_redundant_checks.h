// Clears may_fail of the thunks whose index checks earlier thunks have made already, or whose
// indices they have clamped to the range.
#pragma once
#include "lower/program.h"

namespace cleave {

void drop_redundant_checks(LoweredProgram& program);

}  // namespace cleave
