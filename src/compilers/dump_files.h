// Files of a graph and its inputs.
#pragma once
#include "cleave/compiler.h"
#include "ir/graph.h"

namespace cleave {

// The graph's inputs under their names, symints as i64 of 0 dims.
Status write_inputs(const std::string& path, const Graph& g, const HostTensors& inputs);
// The content of an .input file (cleave/graph_dumper.h).
std::string input_types(const Graph& g);

}  // namespace cleave
