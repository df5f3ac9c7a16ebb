// A graph as a picture: boxes in layers as SVG, or a text in Graphviz's language for any size.
#pragma once
#include <string>

#include "ir/graph.h"

namespace cleave {

constexpr size_t largest_graph_drawing = 200;  // calls

struct GraphDrawing {
  bool types = true;
  bool sources = true;  // the program's line of each call
};

// Of at most largest_graph_drawing calls it can be read.
std::string graph_svg(const Graph& g, const GraphDrawing& shown = {});
// A node for each call and each placeholder that is read, an edge for each operand; results are
// doubly framed.
std::string graph_dot(const Graph& g, const GraphDrawing& shown = {});

}  // namespace cleave
