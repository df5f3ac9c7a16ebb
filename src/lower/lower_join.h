// Lowers a join (place.h) to copies of its operands.
#pragma once
#include "lower/lowering.h"

namespace cleave {

// If some operands have been made in the result, copies the others; a join of more than
// max_copies_of_a_kernel operands is copies too. False, and nothing done, for any other call.
bool lower_join(Lowering& lowering, NodeId n, const loop::KernelRule& rule);

}  // namespace cleave
