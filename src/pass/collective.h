// What passes over collectives ask of a graph.
#pragma once
#include <vector>

#include "ir/graph.h"

namespace cleave {

// A call with an effect is never moved, so what moves calls leaves such a graph alone.
bool has_effect(const Graph& g);

// By value: whether return names it.
std::vector<bool> returned_values(const Graph& g);

// By node: where it stands.
std::vector<size_t> positions(const Graph& g);

// The wait_tensor that alone reads the collective's one result; invalid where something else reads
// or returns it, or the two bear different tags.
NodeId only_wait(const Graph& g, NodeId collective, const std::vector<bool>& is_returned);

}  // namespace cleave
