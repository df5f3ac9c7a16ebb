// Graph queries for passes that move calls.
#pragma once
#include <vector>

#include "ir/graph.h"

namespace cleave {

// A call with an effect is never moved, so passes that move calls skip such a graph.
bool has_effect(const Graph& g);

// By value: whether a return names it.
std::vector<bool> returned_values(const Graph& g);

// By node: its position.
std::vector<size_t> positions(const Graph& g);

}  // namespace cleave
