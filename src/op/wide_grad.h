// Gradient rules of several nodes for bf16 and f16.
//
// Each node of a rule rounds its result, whereas ATen's kernel for the whole rule computes in f32
// and rounds once; where terms cancel, none of the 8 bits remain. A wide rule runs in f32:
//
//   bf16 x, y, dy    ->    bf16(rule(f32(x), f32(y), f32(dy)))
//
// Rules of one node, and those that call a backward operator, don't need this.
#pragma once
#include "ir/op_view.h"

namespace cleave {

// f32 for bf16 and f16, else the dtype itself: in this dtype, a sequence of operators is as
// accurate as one operator.
inline DType wide(DType t) { return t == DType::bf16 || t == DType::f16 ? DType::f32 : t; }

// For operators without a list operand. f32 and f64 pass through `rule` unconverted; the rule sees
// attributes as given in the call.
GradFn wide_grad(GradFn rule);

}  // namespace cleave
