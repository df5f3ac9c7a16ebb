// Steps whose checks of indices earlier ones have made don't fail any more (Step::may_fail).
#pragma once
#include "lower/program.h"

namespace cleave {

void drop_redundant_checks(LoweredProgram& program);

}  // namespace cleave
