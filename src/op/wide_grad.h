// Gradient rules of several nodes for bf16 and f16.
//
// Each node of a rule rounds its result, where ATen's kernel for the whole rule computes in f32 and
// rounds once; where terms cancel, nothing is left of 8 bits. A wide rule runs in f32:
//
//   bf16 x, y, dy    ->    bf16(rule(f32(x), f32(y), f32(dy)))
//
// Rules of one node, and those that call a backward operator, need none of it.
#pragma once
#include "ir/op_view.h"

namespace cleave {

// f32 for bf16 and f16, else the dtype itself: in which several operators in a row stay as exact as
// one operator.
inline DType wide(DType t) { return t == DType::bf16 || t == DType::f16 ? DType::f32 : t; }

// For operators without a list operand. f32 and f64 go through `rule` as they are; the rule sees
// attributes as they were given.
GradFn wide_grad(GradFn rule);

}  // namespace cleave
