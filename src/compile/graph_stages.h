// The stages that rewrite the graph: each is a function, called by the runner of stages.h alone.
#pragma once
#include <vector>

#include "compile/stages.h"

namespace cleave {

struct GraphWork {
  Graph& graph;
  const OpRegistry& ops;
  const CompileOptions& options;
  Report& report;
  bool is_other_graph = false;  // the stage has put another one in the graph's place
};

struct GraphStage {
  Stage stage;
  Status (*run)(GraphWork&);
};
// In the order of Stage.
const std::vector<GraphStage>& graph_stages();

}  // namespace cleave
