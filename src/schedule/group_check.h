// Whether calls may be one kernel.
#pragma once
#include "schedule/group_plan.h"

namespace cleave {

// Fails (bug), saying why, where write_group would: the calls have other rules than elementwise,
// view and reduction; their folds disagree on the rows; or a fold's result is read in another row.
Status check_group(const Graph& graph, const std::vector<NodeId>& nodes,
                   const std::vector<ValueId>& results);

}  // namespace cleave
