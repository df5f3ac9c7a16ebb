// What passes over collectives ask of a graph.
#pragma once
#include <vector>

#include "ir/graph.h"

namespace cleave {

// The wait_tensor that alone reads the collective's one result; invalid where something else reads
// or returns it, or the two bear different tags.
NodeId only_wait(const Graph& g, NodeId collective, const std::vector<bool>& is_returned);

}  // namespace cleave
