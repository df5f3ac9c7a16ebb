// Checks whether calls can be one kernel.
#pragma once
#include "schedule/group_plan.h"

namespace cleave {

// Fails (bug), with the reason, where write_group would: a call isn't elementwise, a view or a
// reduction; the folds disagree on the rows; or a fold's result is read in another row.
Status check_group(const Graph& graph, const std::vector<NodeId>& nodes,
                   const std::vector<ValueId>& results, const FoldParts& cut = {});

}  // namespace cleave
