// Calls as one kernel: those of a `fused` call, or one call alone (group_kernel.h).
#pragma once
#include "lower/lowering.h"

namespace cleave {

// A body of the host program's own may be no single kernel: then it runs call by call.
Status lower_group(Lowering& lowering, NodeId fused);

// An elementwise call or a reduction.
void lower_call(Lowering& lowering, NodeId n);

}  // namespace cleave
