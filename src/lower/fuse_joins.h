// Which joins stay apart: those whose operands kernels write in their places (place.h) that write
// them anyway.
//
//   %p = mm(%a, %a)            %p in its place, %s too: one pass over each instead of %p being
//   %s = sin(%b)               written, read and written again
//   %z = cat([%p, %s])
//
// A join that isn't in memory when it is fused, for it is computed where it is read, is fused.
#pragma once
#include "lower/fuse_calls.h"

namespace cleave {

// Among the calls that `calls` takes for elementwise ones, in order.
std::vector<NodeId> find_placed_joins(const Graph& graph, const FuseCalls& calls,
                                      const FuseCosts& costs);

}  // namespace cleave
