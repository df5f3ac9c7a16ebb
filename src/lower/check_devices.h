// Checks that a graph lies on the device that it is compiled for.
#pragma once
#include "ir/graph.h"

namespace cleave {

// Errors, naming the first placeholder or call of the graph and its subgraphs that lies elsewhere:
// unsupported where it is a copy or a constructor, or all of the graph lies on that other device;
// user where values are on both. A 0-d placeholder on the CPU may be anywhere. To be called before
// a graph is lowered, to run it or to report what would run.
Status check_devices(const Graph& graph, Device device);

}  // namespace cleave
