// A join (place.h) as copies of its operands, side by side.
#pragma once
#include "lower/lowering.h"

namespace cleave {

// Copies what isn't in its place where some operands are, and each operand where there are many.
// False: neither is so, or the call is no join.
bool lower_join(Lowering& lowering, NodeId n, const loop::KernelRule& rule);

}  // namespace cleave
