// What a TracedGraph holds.
#pragma once
#include "cleave/traced_graph.h"
#include "ir/graph.h"

namespace cleave {

struct TracedGraph::State {
  Graph graph;
  Operators ops;
};

TracedGraph traced_graph(Graph graph, Operators ops);

}  // namespace cleave
