// Parts of the printer that other files of this directory use.
#pragma once
#include <string>
#include <vector>

#include "ir/graph.h"

namespace cleave {

// Appends text(), in the common cases without a temporary string.
void append_text(std::string& out, const Dim& d);
void append_text(std::string& out, const Type& t);
void append_text(std::string& out, const AttrValue& v);

// The graphs that attributes of g refer to, in order, possibly repeated.
std::vector<GraphRef> subgraphs_of(const Graph& g);
// The graphs reachable from `listed` and g, each once, after the graphs that it refers to.
std::vector<GraphRef> subgraphs_in_order(const Graph& g, const std::vector<GraphRef>& listed);

}  // namespace cleave
