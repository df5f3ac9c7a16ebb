// Whether the folds of a group and their readers agree on the rows (group_kernel.h).
#pragma once
#include "lower/fuse_groups.h"

namespace cleave {

// Whether the group folds rows alone, each adjacent in memory.
bool has_whole_rows(const FuseGroup& group);

// Whether the call has rows of another length than those that the group folds, one for each: a row
// that is padded, or a part of it (GroupPlan::has_own_length).
bool has_own_length(const Graph& graph, const FuseCalls& calls, NodeId n, const FuseGroup& group);

// Whether the folds fit in one kernel: they have the same rows, or one folds the rows of a matrix
// and the other its columns, of which there are few enough beside enough rows.
bool rows_agree(const FuseCosts& costs, const std::vector<FoldForm>& a,
                const std::vector<FoldForm>& b);

// Whether the call can be computed in the rows of the group; if it reads folds of the group, while
// the row is still in the cache.
bool fits_rows(const Graph& graph, const FuseCalls& calls, const FuseCosts& costs, NodeId n,
               const FuseGroup& group);

}  // namespace cleave
