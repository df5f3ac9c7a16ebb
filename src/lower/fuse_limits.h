// Whether a call may join a group, and a group another one: rows, order, and limits of size.
#pragma once
#include "lower/fuse_groups.h"

namespace cleave {

// The groups so far, and what they are made from.
struct FuseGrouping {
  const Graph& graph;
  const FuseCalls& calls;
  const FuseCosts& costs;
  std::vector<bool> repeated;  // by node: computes again what an earlier one gives
  FuseGroups groups = {};

  int32_t group_of(ValueId v) const { return groups.of(graph, v); }
  // Whether all of it is there when g runs, made by others or by g itself.
  bool is_known_at(const std::vector<ValueId>& values, int32_t g) const;
};

bool may_join(const FuseGrouping& grouping, NodeId n, int32_t g);

// `from`, which g reads, would run where g does: nobody may read it before.
bool may_merge(const FuseGrouping& grouping, int32_t from, int32_t g);

}  // namespace cleave
