// Pieces of the printer that other parts of the room use.
#pragma once
#include <string>
#include <vector>

#include "ir/graph.h"

namespace cleave {

// Appends what text() gives, without a string in between where that is common.
void append_text(std::string& out, const Dim& d);
void append_text(std::string& out, const Type& t);
void append_text(std::string& out, const AttrValue& v);

// The graphs that attributes of g refer to, in order, perhaps repeated.
std::vector<GraphRef> subgraphs_of(const Graph& g);
// Those that `listed` and g reach, each once, after those that it refers to.
std::vector<GraphRef> subgraphs_in_order(const Graph& g, const std::vector<GraphRef>& listed);

}  // namespace cleave
