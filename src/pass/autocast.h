// Mixed precision: rewrites a forward graph so that products run in bf16 or f16.
//
//   graph @main(%x: input f32[8,4], %w: param f32[4,2] grad) {
//     %y = mm(%x, %w)                          : f32[8,2]
//     %l = sum(%y)                             : f32[]
//     return %l
//   }                                    ->
//   graph @main(%x: input f32[8,4], %w: param f32[4,2] grad) {
//     %x.bf16 = _to_copy(%x; dtype=bf16)       : bf16[8,4]
//     %w.bf16 = _to_copy(%w; dtype=bf16)       : bf16[4,2]
//     %y = mm(%x.bf16, %w.bf16)                : bf16[8,2]
//     %l = sum(%y)                             : bf16[]
//     %l.f32 = _to_copy(%l; dtype=f32)         : f32[]
//     return %l.f32
//   }
//
// The dtypes at the interface are kept: placeholders (weights stay f32, and so do their gradients,
// which are derived from this graph), results, updates, operands and results of subgraphs. In
// between, each operator runs as autocast_policy.h says. A value is cast to a dtype once, before
// its first use in that dtype, and its views are views of the cast; a value that was cast to a
// wider dtype isn't cast back. An operator that refuses mixed dtypes, or whose results would be
// anything but floats of the same shapes, gets its operands in the dtypes of the program. A dtype
// given as an attribute is kept.
//
// Applying it again changes nothing.
#pragma once
#include "ir/graph.h"

namespace cleave {

// Errors (user): a dtype that is neither bf16 nor f16; a joint graph.
Status autocast(Graph& g, const OpRegistry& ops, DType dtype);

}  // namespace cleave
