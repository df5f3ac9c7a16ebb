// Everything that a group's kernel depends on, as bytes, so that a repeated layer is checked and
// lowered once.
//
//   calls       operator, attributes (except streams, which are arguments), operands by number,
//               the types of what they read and make; which of them are results
//   memory      of each operand and result: dtype, layout, the buffer and its size
#pragma once
#include <string>

#include "schedule/group_kernel.h"

namespace cleave {

// Of the calls alone, which read `operands` and what they make: check_group says the same of groups
// with equal keys.
std::string calls_key(const Graph& graph, const std::vector<NodeId>& nodes,
                      const std::vector<ValueId>& operands, const std::vector<ValueId>& results);

// Of the memory of the same operands and results: groups with both keys equal have kernels that are
// equal except for names.
std::string memory_key(const std::vector<std::pair<ValueId, loop::Bound>>& operands,
                       const std::vector<GroupResult>& results, const loop::Kernel& kernel);

}  // namespace cleave
