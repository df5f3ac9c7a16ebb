// How a graph is compiled: what every stage reads of it stands in its row (graph_stages.cpp) or its
// declaration (code_stages.h). public_options.h makes one of the host program's Options.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "cleave/compiler_choice.h"
#include "cleave/executor.h"
#include "cleave/memory_budget.h"
#include "cleave/options.h"
#include "cleave/target.h"
#include "pass/pass.h"

namespace cleave {

class BudgetFamily;

struct CompileOptions {
  // Of the stages in front of verify (stages.h), which compile() leaves to its callers.
  std::optional<DType> autocast = {};
  bool grad = false;
  // Any is compiled for; an Instance is refused (unsupported) where this machine can't run it.
  Target target = Target::here();
  CompilerChoice compiler = CompilerChoice::automatic;
  std::shared_ptr<Executor> executor;  // also compiles units; null: a pool is made
  std::string dump_dir;                // empty: no dump
  // Of the graph's results, how many are the forward's: what is tagged for recomputation and read
  // by anything else runs again (cut/honor_tags.h). 0: all.
  size_t forward_results = 0;
  MemoryBudget memory_budget = {};  // of the planned peak
  // The graph is cut already (join_forward_backward): its copies stay, and no tag asks for more.
  // Without a budget.
  bool is_cut = false;
  bool fuse = true;  // false: a kernel for each call
  PassOptions passes = {};
  // Made before of the same graph, with the same `fuse` and target; null: made where a
  // budget is given.
  std::shared_ptr<BudgetFamily> family = nullptr;
};

}  // namespace cleave
