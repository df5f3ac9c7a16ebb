// What passes that move calls ask of a graph.
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

}  // namespace cleave
