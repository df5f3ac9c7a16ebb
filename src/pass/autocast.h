// Mixed precision: a forward graph is rewritten so that products run in bf16 or f16.
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
// The dtypes of what comes in and goes out stay: placeholders (weights stay f32, and so do their
// gradients, derived of this graph), results, updates, operands and results of subgraphs. In
// between, each operator runs as autocast_policy.h says. A value is cast to a dtype once, where it
// is first asked for, and its views are views of the cast; what was cast to a wider dtype isn't
// cast back. An operator that refuses mixed dtypes, or would give something else than floats of
// the same shapes, gets its operands in the dtypes that the program gave them. A dtype that stands
// in an attribute is kept.
//
// Once more changes nothing.
#pragma once
#include "ir/graph.h"

namespace cleave {

// Errors (user): a dtype that is neither bf16 nor f16; a joint graph.
Status autocast(Graph& g, const OpRegistry& ops, DType dtype);

}  // namespace cleave
