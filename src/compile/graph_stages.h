// The stages that rewrite the graph: functions Graph -> Graph, called by the runner of stages.h
// alone. What each reads beside the graph stands in its row (graph_stages.cpp).
#pragma once
#include <vector>

#include "backend/backend.h"
#include "compile/stages.h"

namespace cleave {

// What a stage gives.
struct StagedGraph {
  Graph graph;
  bool is_another = false;  // else the one that it was given: Graph::edits tells what has changed
  std::vector<CompilePass> passes = {};  // that ran
  int64_t recompute_ns = 0;              // of what is computed again
};

struct StageInputs {
  const OpRegistry& ops;
  const StageOptions& options;
  std::shared_ptr<Backend> backend;
};

struct GraphStage {
  Stage stage;
  Result<StagedGraph> (*run)(Graph, const StageInputs&);
};
// In the order of Stage.
const std::vector<GraphStage>& graph_stages();

}  // namespace cleave
