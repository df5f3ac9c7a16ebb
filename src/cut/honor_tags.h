// Checkpoint tags in a whole program: what its backward reads of calls that are tagged for
// recomputation is computed again, right in front of the first reader.
//
//   %c = cos(%x) !recompute(must_recompute, ac=1)        %c = cos(%x)
//   %l = sum(%c)                                   ─►    %l = sum(%c)
//   %g = mul(%t, %c)                                     %c_1 = cos(%x)
//                                                        %g = mul(%t, %c_1)
//
//   forward   up to the last call that the first results need; what stands after is the backward,
//             the optimizer too
//   kept      what isn't tagged; the border of a region: what a recomputed call of a later one
//             reads; calls with effects
#pragma once
#include "ir/graph.h"

namespace cleave {

// The forward is what the first `results` entries of `return` that are results need; 0: all of
// them. Nothing changes where nothing is tagged. Returns how many calls run again.
Result<int64_t> honor_tags(Graph& g, size_t results = 0);

}  // namespace cleave
