// Sums of which at most one term isn't zero: a gradient that goes to one class of a row.
//
//   fold over r in n { s = sum of select(eq(r, i), v, 0.0) }
//     ->   let s = select(0 <= i < n, 0.0 + v, 0.0)
//
// The bits equal those of the sum, -0.0 and NaN included.
#pragma once
#include "loop/kernel.h"

namespace cleave {

// Replaces such a Reduce at the end of the block.
void write_one_term(loop::Block& block);

}  // namespace cleave
