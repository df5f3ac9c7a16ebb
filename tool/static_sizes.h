// The sizes that a graph with symints is compiled for.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "ir/array.h"
#include "ir/specialize.h"

namespace cleave::tool {

// The graph with its symints bound: to `sizes`, to the shapes of tensors given for placeholders,
// and to integers given for symints. Errors (user): those of bind_symbols and specialize.
Result<Graph> static_graph(const Graph& g, const std::map<std::string, Array>& given,
                           const SymbolValues& sizes = {});

// The graph with its symints bound to their hints, at which `kernels` counts.
Result<Graph> graph_at_hints(const Graph& g);

// Words "s0=64" of an option as values. Errors (user): another form, a name that is twice there or
// no symint of the graph.
Result<SymbolValues> parse_sizes(const Graph& g, const std::vector<std::string>& words,
                                 const std::string& option);

}  // namespace cleave::tool
