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

// The graph with its symints bound by words "s0=64" of --size and by the tensors that are given; a
// static graph as it is. Errors (user): neither is given, which lists the symints; those of
// static_graph and parse_sizes.
Result<Graph> sized_graph(Graph g, const std::map<std::string, Array>& given,
                          const std::vector<std::string>& sizes);
inline constexpr const char* size_help = "of a symint: s0=64; several between commas";
// Words of --size that name several sizes of a symint: s0=1 8 64 s1=16. Errors (user): as for
// parse_sizes.
Result<std::map<std::string, std::vector<int64_t>>> parse_size_lists(
    const Graph& g, const std::vector<std::string>& words, const std::string& option);

// The graph with its symints bound to their hints, as `cleave kernels` uses it.
Result<Graph> graph_at_hints(const Graph& g);

// Parses words "s0=64" of an option. Errors (user): another format, a name that is given twice or
// is no symint of the graph.
Result<SymbolValues> parse_sizes(const Graph& g, const std::vector<std::string>& words,
                                 const std::string& option);

}  // namespace cleave::tool
