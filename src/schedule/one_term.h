// Sums of which one term alone isn't zero: a gradient that goes to one class of a row.
//
//   fold over r in n { s = sum of select(eq(r, i), v, 0.0) }
//     ->   let s = select(0 <= i < n, 0.0 + v, 0.0)
//
// The bits are those of the sum, -0.0 and NaN included.
#pragma once
#include "loop/kernel.h"

namespace cleave {

// Writes such a Reduce at the end of the block out.
void write_one_term(loop::Block& block);

}  // namespace cleave
