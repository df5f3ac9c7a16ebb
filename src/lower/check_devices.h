// Whether there is a backend for all devices of a graph.
#pragma once
#include "ir/graph.h"

namespace cleave {

// Unsupported, naming the first placeholder or call of the graph and its subgraphs that lies on a
// device other than the CPU. Whoever lowers a graph to run it, or to tell what would run, asks
// first.
Status check_devices(const Graph& graph);

}  // namespace cleave
