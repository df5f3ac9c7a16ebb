// Lowers a cond: both arms write their results to the memory of the call's (drawing in program.h).
#pragma once
#include "lower/lowering.h"

namespace cleave {

Status lower_branch(Lowering& lowering, NodeId n);

}  // namespace cleave
