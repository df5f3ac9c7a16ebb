// Decides what is saved and what runs again in a program.
//
//   no budget   cheap_remat.h: very cheap calls run again; the result isn't fused yet
//   a budget    budget_family.h: the cheapest program whose exact peak is within it; fused
//
// For halves that run as two programs see budget_partition.h: points of the same frontier, with the
// same costs.
#pragma once
#include "remat/budget_family.h"

namespace cleave {

struct RematRequest {
  MemoryBudget budget = {};
  size_t forward_results = 0;                      // as in StageOptions
  std::shared_ptr<BudgetFamily> family = nullptr;  // of the same graph; null: one is made
};

// Replaces a static, decomposed graph that isn't fused by the chosen program. Returns the program's
// recomputation time, in ns at the planner's rates. Errors: those of lowering; user: the budget
// can't be met.
Result<int64_t> rematerialize(Graph& graph, const std::shared_ptr<ProgramPlanner>& planner,
                              const RematRequest& request);

}  // namespace cleave
