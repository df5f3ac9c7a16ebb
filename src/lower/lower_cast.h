// A cast of a placeholder that products alone read, directly or through views, is no step where
// they convert what they read themselves, to the same numbers (LibraryOperand::converts). A weight
// under autocast has no copy, and one of 8 bits no wider one.
//
//   %w.bf16 = _to_copy(%w; dtype=bf16)        at %w
//   %t = permute(%w.bf16; dims=[1,0])         at %w, turned
//   %y = mm(%x, %t)                           reads %w
//
// Placeholders are written by the program's last copies alone (lower_graph.cpp), so that whenever
// the products run they read what the cast would have read.
#pragma once
#include "lower/lowering.h"

namespace cleave {

// Whether the call is such a cast: then its result is where its operand is.
bool lower_cast(Lowering& lowering, NodeId n);

}  // namespace cleave
