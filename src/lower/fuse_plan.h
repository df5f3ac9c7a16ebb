// Phases 1 and 2 of fusion, and the choice between several groupings: the one that takes the least
// time by the costs.
#pragma once
#include "lower/fuse_groups.h"

namespace cleave {

struct FusePlan {
  FuseCalls calls;
  FuseGroups groups;  // each of which can be one kernel
};

// Groups the calls in several ways, a bounded number of them: by which groups they may join
// (FuseReaders), and by what is computed again where it is read (fuse_again.h).
FusePlan plan_fusion(const Graph& graph, const FuseCosts& costs);

}  // namespace cleave
