// Whether a call may join a group, and whether two groups may merge: rows, order, limits of size.
#pragma once
#include "lower/fuse_groups.h"

namespace cleave {

// The groups so far, and what they are made from.
struct FuseGrouping {
  const Graph& graph;
  const FuseCalls& calls;
  const FuseCosts& costs;
  std::vector<bool> repeated;  // by node: it recomputes the value of an earlier one
  FuseGroups groups = {};

  int32_t group_of(ValueId v) const { return groups.of(graph, v); }
  // Whether all values are known when g runs, made before it or by g itself.
  bool is_known_at(const std::vector<ValueId>& values, int32_t g) const;
};

// In which order the call would be computed in the group: from the group's number of an element to
// its own. Its own, unless it shares nothing with the group in that order.
Reorder turn_in(const FuseGrouping& grouping, NodeId n, int32_t g);
// Whether the call, computed in this order, reads the value where the group reads or makes it.
bool reads_as_group(const FuseGrouping& grouping, NodeId n, int32_t g, const Reorder& turn,
                    ValueId v);

bool may_join(const FuseGrouping& grouping, NodeId n, int32_t g);

// `from`, which g reads, or which reads what g does, then runs where g does, so that nobody may
// read it before.
bool may_merge(const FuseGrouping& grouping, int32_t from, int32_t g);

}  // namespace cleave
