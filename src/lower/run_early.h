// Thunks that free more than they allocate, or allocate next to nothing, run as soon as they can,
// such as an optimizer after the gradient that it reads.
//
//   before                       after
//     grad.w1 = ...                grad.w1 = ...
//     grad.x = ...                 w1, m1 = adam(grad.w1)     frees a gradient, takes nothing
//     grad.w0 = ...                grad.x = ...
//     w1, m1 = adam(grad.w1)       grad.w0 = ...
//     w0, m0 = adam(grad.w0)       w0, m0 = adam(grad.w0)
//
// A thunk goes after the last one that it depends on. Thunks that may fail stay where they are, and
// nothing is written to a placeholder before them. Where the last one is among calls that may run
// as one job (join_products.h), the thunk goes after all of them, if the peak isn't larger so.
//
// The new order is kept only if the peak isn't larger. Programs with jumps stay as they are.
#pragma once
#include "lower/program.h"

namespace cleave {

void run_early(LoweredProgram& program);

}  // namespace cleave
