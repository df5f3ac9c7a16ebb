// Lowers calls to one kernel: those of a `fused` call, or a single call (group_kernel.h).
#pragma once
#include "lower/lowering.h"

namespace cleave {

// A body that the user wrote may not fit in a single kernel; then it is lowered call by call.
Status lower_group(Lowering& lowering, NodeId fused);

// An elementwise call or a reduction.
void lower_call(Lowering& lowering, NodeId n);

}  // namespace cleave
