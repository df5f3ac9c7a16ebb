// Everything that a group's kernel depends on, as bytes: groups with equal keys have kernels that
// are equal except for names, so that a repeated layer is lowered once.
//
//   calls       operator, attributes (except streams, which are arguments), operands by number
//   operands    dtype, layout, the buffer and its size
//   results     by number, and their memory
#pragma once
#include <string>

#include "schedule/group_kernel.h"

namespace cleave {

std::string group_key(const Graph& graph, const std::vector<NodeId>& nodes,
                      const std::vector<std::pair<ValueId, loop::Bound>>& operands,
                      const std::vector<GroupResult>& results, const loop::Kernel& kernel);

}  // namespace cleave
