// What the stages are told: the host program's options, and what their caller knows of the graph.
// What each stage reads of it stands in its row (graph_stages.cpp) or its declaration
// (code_stages.h).
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "cleave/options.h"

namespace cleave {

class BudgetFamily;
class CodePool;

// `ops` isn't read: the registry of the graph is an argument of its own. Nor are autocast and grad
// by what begins at verify (build_program).
struct StageOptions : CompileOptions {
  bool grad = false;  // the joint graph is wanted (Stage::grad)
  // Of the graph's results, how many are the forward's: what is tagged for recomputation and read
  // by anything else runs again (cut/honor_tags.h). 0: all.
  size_t forward_results = 0;
  // The graph is cut already (join_forward_backward): its copies stay, and neither tags nor
  // `partition` ask for more. Without a budget.
  bool is_cut = false;
  // The graph was taken out of a frozen program (BuiltProgram::frozen), whose joint passes had run.
  bool is_frozen_part = false;
  bool fuse = true;  // false: a kernel for each call
  // Made before of the same graph, with the same `fuse` and target; null: made where a
  // budget is given.
  std::shared_ptr<BudgetFamily> family = nullptr;
  // The functions that it shares with programs for other sizes; null: it is alone.
  std::shared_ptr<CodePool> pool = nullptr;
  // Writes what the program is going to run on to a file, for CompileOptions::repro; empty: it
  // isn't known yet.
  std::function<Status(const std::string& path)> write_inputs = {};
};

}  // namespace cleave
