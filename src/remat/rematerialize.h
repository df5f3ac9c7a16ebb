// Decides what is saved and what runs again in a program.
//
//   no budget   cheap_remat.h: very cheap calls run again; the result isn't fused yet
//   a budget    budget_family.h: the cheapest program whose exact peak is within it; fused. On a
//               device its values may also lie in the host's memory for a while (lower/offload.h)
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
  bool offload = false;                            // values may lie in the host's memory
};

struct Rematerialized {
  int64_t recompute_ns = 0;  // at the planner's rates
  // Bytes that the arena takes once values are offloaded; nullopt: none need to be.
  std::optional<int64_t> arena_room = {};
};

// Replaces a static, decomposed graph that isn't fused by the chosen program. Errors: those of
// lowering; user: the budget can't be met.
Result<Rematerialized> rematerialize(Graph& graph, const std::shared_ptr<ProgramPlanner>& planner,
                                     const RematRequest& request);

}  // namespace cleave
