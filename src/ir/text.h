// The graph text: print, parse, verify (grammar and rules in doc/ir.md).
#pragma once
#include <string>

#include "ir/graph.h"

namespace cleave {

enum class Naming { own, canonical };

// One graph, or a file of graphs (subgraphs first). `canonical` renumbers values %0, %1, ...
std::string print(const Graph& g, Naming naming = Naming::own);
std::string print(const Program& p, Naming naming = Naming::own);
// One node as a line without indentation, for error messages.
std::string print_node(const Graph& g, NodeId n);

// Reads text; `file` is used in messages (file:line:column: rule: ...; the line; a caret).
Result<Program> parse(std::string_view text, const std::string& file, const OpRegistry& ops);

// Checks every rule of doc/ir.md; the first broken one is the failure, with its number.
Status verify(const Graph& g);
Status verify(const Program& p);

}  // namespace cleave
