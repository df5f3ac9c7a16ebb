// Finds the joins that aren't fused: those whose operands are written by kernels of their own
// anyway, which then write them into the join's result (place.h).
//
//   %p = mm(%a, %a)            mm and sin write into the memory of %z: instead of being written,
//   %s = sin(%b)               read and written again, %p is written once
//   %z = cat([%p, %s])
//
// A join that is computed where it is read is never in memory; it is always fused.
#pragma once
#include "lower/fuse_calls.h"

namespace cleave {

// Only joins that `calls` classifies as elementwise, in order.
std::vector<NodeId> find_placed_joins(const Graph& graph, const FuseCalls& calls,
                                      const FuseCosts& costs);

}  // namespace cleave
