// Steps that free more than they take, or take next to nothing, run as soon as they can: an
// optimizer after the gradient that it reads.
//
//   before                       after
//     grad.w1 = ...                grad.w1 = ...
//     grad.x = ...                 w1, m1 = adam(grad.w1)     frees a gradient, takes nothing
//     grad.w0 = ...                grad.x = ...
//     w1, m1 = adam(grad.w1)       grad.w0 = ...
//     w0, m0 = adam(grad.w0)       w0, m0 = adam(grad.w0)
//
// A step goes after the last one that it depends on. Steps that may fail stay where they are, and
// nothing is written into a placeholder before them.
//
// Kept only where the peak isn't larger. Programs with jumps stay as they are.
#pragma once
#include "lower/program.h"

namespace cleave {

void run_early(LoweredProgram& program);

}  // namespace cleave
