// Graphs that nodes refer to: what passes ask of them, and how they change them.
//
// A subgraph is closed: its placeholders stand for the operands of the call, in order, but for
// symints, which are the caller's of the same name. Two nodes may refer to one graph.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace cleave {

// The placeholders that stand for operands: all but symints.
Values parameters_of(const Graph& g);
// The types of what g returns.
Types result_types(const Graph& g);

// The operator's properties, and those of calls in the node's subgraphs that hold for the whole:
// random, data_dependent, effect, collective.
Trait traits_of(const Node& node);

// Lets `change` edit a copy of each graph that g's nodes refer to, at any depth, inner ones first.
// Where it says that it changed something, nodes refer to the copy: all of them to the same one.
Status rewrite_subgraphs(Graph& g, const std::function<Result<bool>(Graph&)>& change);

// A name made from `stem` that no graph bears that g reaches.
std::string fresh_graph_name(const Graph& g, const std::string& stem);

// Symbols that an attribute mentions, those of a subgraph included, each once in order.
void collect_symbols(const AttrValue& v, std::vector<std::string>& symbols);

}  // namespace cleave
