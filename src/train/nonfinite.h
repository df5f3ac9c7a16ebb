// Which value made a run's loss or gradients not finite.
//
//   train_step: the loss is nan; the first value that isn't finite is %r, -inf at [0,2]:
//     %r = log(%x)   : f32[4,8]     # net.cpp:12
//   the first nan is %s, at [0,2]:
//     %s = sub(%r, %r)   : f32[4,8]     # net.cpp:13
//
// Of the values that the loss (or, if it is finite, a gradient) got it from, through values that
// aren't finite either: a mask of -inf that a softmax turns into zeros is none of them.
#pragma once
#include "exec/bound_program.h"

namespace cleave {

// `checked` are values of program.traced(): the loss, the gradients, their norm.
Failure nonfinite_failure(const BoundProgram& program, const Values& checked);

}  // namespace cleave
