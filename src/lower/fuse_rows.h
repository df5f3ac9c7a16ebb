// Whether the folds of a group, and what reads them, agree on the rows (group_kernel.h).
#pragma once
#include "lower/fuse_groups.h"

namespace cleave {

// Two folds can be of one kernel: the same rows, or rows of the one are what the other adds up.
bool rows_agree(const std::vector<FoldForm>& a, const std::vector<FoldForm>& b);

// The call can be computed in the rows of the group, and what it reads of the group's folds be read
// there while the row is still near.
bool fits_rows(const Graph& graph, const FuseCalls& calls, const FuseCosts& costs, NodeId n,
               const FuseGroup& group);

}  // namespace cleave
