#pragma once
#include <random>
#include <vector>

#include "ir/graph.h"

namespace cleave::random {

// The calls of a graph in an order drawn from those in which operands stand before their readers.
std::vector<NodeId> shuffled_calls(const Graph& g, std::mt19937_64& rng);

}  // namespace cleave::random
