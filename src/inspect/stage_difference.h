// Where the compilations of two programs differ: the first stage that leaves another text.
//
//   graph ... fuse        the graph
//   lower ... schedule    its kernels
//   emit, build           their C text
//
// Names of values and source lines make no difference.
#pragma once
#include "cleave/report.h"
#include "compile/stage_options.h"
#include "ir/graph.h"

namespace cleave {

// What each stage left, first the graph that was given, as stage "graph".
struct StageRecord {
  struct Left {
    std::string stage, text;
  };
  std::vector<Left> stages;
  Report report;
};

// Compiles a static graph, without a cache. Errors: those of compiling.
Result<StageRecord> record_stages(const Graph& g, const OpRegistry& ops, StageOptions options);

struct StageDifference {
  std::string stage;  // the first that differs; empty: none does
  // The first line that differs there, counted from 1, in either text; empty where one ends.
  int64_t line = 0;
  std::string a, b;
  std::string same_from;  // from this stage on both are the same again; empty: they never are
};
StageDifference stage_difference(const StageRecord& a, const StageRecord& b);

}  // namespace cleave
