// Checkpoint tags in a whole program: results of tagged calls that the backward reads are computed
// again, immediately before their first reader there.
//
//   %c = cos(%x) !recompute(must_recompute, ac=1)        %c = cos(%x)
//   %l = sum(%c)                                   ─►    %l = sum(%c)
//   %g = mul(%t, %c)                                     %c_1 = cos(%x)
//                                                        %g = mul(%t, %c_1)
//
//   forward   all calls up to the last one that the first results need; the calls after it are the
//             backward, including the optimizer
//   kept      results of calls that aren't tagged; the border of a region (results that a tagged
//             call of a later region reads); results of calls with effects and of collectives
#pragma once
#include "ir/graph.h"

namespace cleave {

// `results`: as in forward_calls. A graph without tags isn't changed. Returns how many calls run
// again.
Result<int64_t> honor_tags(Graph& g, size_t results = 0);

}  // namespace cleave
