// Graphs that nodes refer to: queries and rewrites for passes.
//
// A subgraph is closed: its placeholders correspond to the operands of the call, in order, except
// for symints, which are the caller's symints of the same name. Two nodes may refer to one graph.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace cleave {

// The placeholders that correspond to operands: all except symints.
Values parameters_of(const Graph& g);
// The types of what g returns.
Types result_types(const Graph& g);

// The operator's traits, plus those traits of calls in the node's subgraphs that apply to the whole
// call: random, data_dependent, effect, collective.
Trait traits_of(const Node& node);

// Calls `change` on a copy of each graph that g's nodes refer to, at any depth, inner ones first.
// If it returns true (changed), the nodes refer to the copy: all of them to the same one.
Status rewrite_subgraphs(Graph& g, const std::function<Result<bool>(Graph&)>& change);

// Adds the symbols that an attribute mentions, including those of a subgraph, each once, in order.
void collect_symbols(const AttrValue& v, std::vector<std::string>& symbols);

}  // namespace cleave
