// Lowers a call whose operator writes its own loops: to a kernel, or to copies if it is a join.
#pragma once
#include "lower/lowering.h"

namespace cleave {

void lower_kernel(Lowering& lowering, NodeId n, const loop::KernelRule& rule);

}  // namespace cleave
