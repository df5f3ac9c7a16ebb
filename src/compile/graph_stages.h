// The stages that rewrite the graph: functions Graph -> Graph, called only by the runner in
// stages.cpp. The table in graph_stages.cpp shows which options each of them reads.
#pragma once
#include <optional>
#include <vector>

#include "backend/backend.h"
#include "compile/stages.h"

namespace cleave {

// The result of a stage.
struct StagedGraph {
  Graph graph;
  bool is_another = false;               // a new graph; else the given one, see Graph::edits
  std::vector<CompilePass> passes = {};  // those that ran
  int64_t recompute_ns = 0;              // time of the recomputed calls
  std::optional<Graph> frozen = {};      // what is computed once
  // Bytes that its arena takes once values are offloaded (lower/offload.h); nullopt: none are.
  std::optional<int64_t> arena_room = {};
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
