// Makes a symbolic graph static: the shapes of the inputs determine the symbols.
//
//   %x: input f32[s0*4,s1] given as [8,3]    ->    s0 = 2, s1 = 3
//
// A size that is linear in one unknown symbol determines it; the sizes are visited repeatedly until
// no more symbols are found. Then every size is checked against its value and every symbol against
// its range, so that no kernel ever sees a shape that the graph does not allow.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace cleave {

using SymbolValues = std::map<std::string, int64_t>;

// `shapes[i]` is the concrete shape of placeholder i; nullopt if it isn't given. `given` holds
// symints whose values the caller knows. Errors (user): a rank or size that differs, a value out of
// its range, two sizes that disagree, a symbol that no given shape determines.
Result<SymbolValues> bind_symbols(const Graph& g,
                                  const std::vector<std::optional<std::vector<int64_t>>>& shapes,
                                  const SymbolValues& given = {});

// The same graph with the symbols replaced by their values in types and attributes: every type is
// static and inferred again. Placeholders, names, nodes and returns keep their order; a symint
// remains as the placeholder of its scalar i64[], with its range narrowed to the value. Subgraphs
// are specialised too. Errors: as for bind_symbols if a symbol is missing or a value is out of
// range; if a rule refuses the sizes, the failure names the node and its line.
Result<Graph> specialize(const Graph& g, const SymbolValues& values);

// Whether no type and no attribute holds a symbol, and symints of subgraphs have a single value.
bool is_static(const Graph& g);

}  // namespace cleave
