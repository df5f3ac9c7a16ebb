// The body of a group's `fused` call.
#pragma once
#include "lower/fuse_groups.h"

namespace cleave {

struct FuseBody {
  std::vector<NodeId> nodes;  // inlined calls and views too
  size_t kernels = 0;         // without the views
  std::vector<ValueId> operands, results;
};

FuseBody body_of(const Graph& g, const FuseCalls& calls, const FuseGroups& groups, int32_t group);

}  // namespace cleave
