// A graph as a picture: boxes in layers as SVG, or a text in Graphviz's language for any size.
#pragma once
#include <set>
#include <string>

#include "ir/graph.h"

namespace cleave {

constexpr size_t largest_graph_drawing = 200;  // calls

struct GraphDrawing {
  bool types = true;
  bool sources = true;  // the program's line of each call
  bool results = true;  // in green
  // Calls that are drawn in this colour, by the name of their first result.
  std::set<std::string> marked = {};
  std::string_view mark = "#ffd6d6";
  std::string title = {};  // empty: the graph's name, and its number of calls
};

// Of at most largest_graph_drawing calls it can be read.
std::string graph_svg(const Graph& g, const GraphDrawing& shown = {});
// A node for each call and each placeholder that is read, an edge for each operand; results are
// doubly framed.
std::string graph_dot(const Graph& g, const GraphDrawing& shown = {});

// The calls of `g` that `other` doesn't have under the same names, with the same operator,
// operands, attributes and types.
std::set<std::string> changed_calls(const Graph& g, const Graph& other);

}  // namespace cleave
