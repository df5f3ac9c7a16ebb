// Checks that there is a backend for all devices of a graph.
#pragma once
#include "ir/graph.h"

namespace cleave {

// Unsupported, naming the first placeholder or call of the graph and its subgraphs on a device
// other than the CPU. To be called before a graph is lowered, to run it or to report what would
// run.
Status check_devices(const Graph& graph);

}  // namespace cleave
