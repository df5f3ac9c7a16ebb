// What is saved and what runs again in a program: the one place that decides it.
//
//   no budget   cheap_remat.h: what costs next to nothing runs again; the graph isn't fused yet
//   a budget    budget_family.h: the cheapest program whose exact peak is within it; fused
//
// Halves that run as two programs have an entry of their own (budget_partition.h): points of the
// same frontier, at the same prices.
#pragma once
#include "remat/budget_family.h"

namespace cleave {

struct RematRequest {
  MemoryBudget budget = {};
  size_t forward_results = 0;                      // as in CompileOptions
  std::shared_ptr<BudgetFamily> family = nullptr;  // of the same graph; null: made here
};

// Puts the chosen program in the place of a static, decomposed graph that isn't fused. Returns the
// time that it recomputes, in ns at the planner's rates. Errors: those of lowering; user: the
// budget can't be met.
Result<int64_t> rematerialize(Graph& graph, const std::shared_ptr<ProgramPlanner>& planner,
                              const RematRequest& request);

}  // namespace cleave
