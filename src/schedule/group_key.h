// What a group's kernel is made from, as bytes: groups with equal keys have equal kernels, but for
// the names in them. So that a repeated layer is lowered once.
//
//   calls       operator, attributes (but streams, which are arguments), operands by number
//   operands    dtype, layout, and which of them share a buffer of which size
//   results     by number, and where they lie
#pragma once
#include <string>

#include "schedule/group_kernel.h"

namespace cleave {

std::string group_key(const Graph& graph, const std::vector<NodeId>& nodes,
                      const std::vector<std::pair<ValueId, loop::Bound>>& operands,
                      const std::vector<GroupResult>& results, const loop::Kernel& kernel);

}  // namespace cleave
