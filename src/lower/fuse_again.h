// Values that other groups compute again instead of reading them from memory.
//
//   group 0   v = cos(x); y = v * w         writes y, v     ->   writes y
//   group 1   z = v * d; u = x + z          reads x, v, d   ->   v = cos(x) again; reads x, d
//
// It saves writing and reading a value that is hardly dearer to compute than that takes, from what
// its readers' groups read anyway. Results are the same, bit by bit.
#pragma once
#include "lower/fuse_groups.h"

namespace cleave {

// Sets of calls that may be worth computing again, by what their readers' groups read and compute:
// each for one value, or for all that one group reads of others.
std::vector<std::vector<NodeId>> find_repeatable(const Graph& graph, const FuseCalls& calls,
                                                 const FuseGroups& groups, const FuseCosts& costs);

}  // namespace cleave
