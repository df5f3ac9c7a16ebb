// A call with loops of its operator's own: a kernel of them, or copies where it is a join.
#pragma once
#include "lower/lowering.h"

namespace cleave {

void lower_kernel(Lowering& lowering, NodeId n, const loop::KernelRule& rule);

}  // namespace cleave
