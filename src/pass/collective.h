// Graph queries for passes over collectives.
#pragma once
#include <vector>

#include "ir/graph.h"

namespace cleave {

// Returns the wait_tensor that is the only user of the collective's single result; invalid if the
// result has another user or is returned, or if the tags of the two calls differ.
NodeId only_wait(const Graph& g, NodeId collective, const std::vector<bool>& is_returned);

}  // namespace cleave
