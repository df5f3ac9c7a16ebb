// A cast needs no thunk if only library calls read it, directly or through views, and they convert
// what they read themselves, to the same numbers (LibraryOperand::converts). So under autocast a
// weight has no copy, and a weight of 8 bits none in a wider dtype; nor has what a product makes. A
// cast of what a fused kernel makes is fused into it before, and isn't seen here.
//
//   %w.bf16 = _to_copy(%w; dtype=bf16)        memory of %w
//   %t = permute(%w.bf16; dims=[1,0])         memory of %w, transposed
//   %y = mm(%x, %t)                           reads %w
//
// Unless the target has casts from floating dtypes made once (LowerChoices::folds_casts).
//
// This is correct whenever the library calls run: placeholders are written only by copies at the
// program's end (lower_graph.cpp), and other storages last as long as what reads them.
#pragma once
#include "lower/lowering.h"

namespace cleave {

// Whether the call is such a cast; if so, gives its result the memory of its operand.
bool lower_cast(Lowering& lowering, NodeId n);

}  // namespace cleave
