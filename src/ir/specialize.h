// From a symbolic graph to a static one: symbols get their values from the inputs' shapes.
//
//   %x: input f32[s0*4,s1] given as [8,3]    ->    s0 = 2, s1 = 3
//
// A size that is linear in one unknown symbol gives its value; sizes are used again and again until
// none gives another one. Every size is then checked against its value and every symbol against its
// range, so that no kernel ever sees a shape that the graph does not allow.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace cleave {

using SymbolValues = std::map<std::string, int64_t>;

// `shapes[i]` is the concrete shape of placeholder i; nullopt where it is not given. `given` holds
// symints whose values the caller knows. Errors (user): a rank or size that differs, a value out of
// its range, two sizes that disagree, a symbol that no given shape determines.
Result<SymbolValues> bind_symbols(const Graph& g,
                                  const std::vector<std::optional<std::vector<int64_t>>>& shapes,
                                  const SymbolValues& given = {});

// The same graph with the symbols' values in types and attributes: every type is static and
// inferred anew. Placeholders, names, nodes and returns keep their order; a symint stays as the
// placeholder of its scalar i64[], its range narrowed to the value. Subgraphs are specialised too.
// Errors: as bind_symbols for a missing symbol or a value out of range; a node whose rule refuses
// the sizes is named with its line.
Result<Graph> specialize(const Graph& g, const SymbolValues& values);

// No type and no attribute holds a symbol, and symints of subgraphs have one value.
bool is_static(const Graph& g);

}  // namespace cleave
