// The body of a group's `fused` call.
#pragma once
#include "lower/fuse_groups.h"

namespace cleave {

struct FuseBody {
  std::vector<NodeId> nodes;  // inlined calls and views too
  size_t kernels = 0;         // without the views
  bool copies_view = false;   // one of the views would be a copy, were it in memory
  std::vector<ValueId> operands, results;
};

// Whether there is anything to fuse: several calls, or one and a view that isn't copied for it.
inline bool is_worth_fusing(const FuseBody& body) {
  return !body.results.empty() && (body.kernels > 1 || (body.kernels == 1 && body.copies_view));
}

FuseBody body_of(const Graph& g, const FuseCalls& calls, const FuseGroups& groups, int32_t group);

}  // namespace cleave
