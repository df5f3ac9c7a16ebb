#include "remat/rematerialize.h"

#include "remat/cheap_remat.h"

namespace cleave {

Result<Rematerialized> rematerialize(Graph& graph, const std::shared_ptr<ProgramPlanner>& planner,
                                     const RematRequest& request) {
  if (!request.budget.given()) {
    CLEAVE_TRY(const CheapRemat kept, cheap_remat(graph, planner->rates()));
    return Rematerialized{.recompute_ns = kept.recompute_ns};
  }
  std::shared_ptr<BudgetFamily> family = request.family;
  if (!family) {
    CLEAVE_TRY(BudgetFamily made, BudgetFamily::make(graph, planner, request.forward_results));
    family = std::make_shared<BudgetFamily>(std::move(made));
  }
  CLEAVE_TRY(const BudgetFamily::Choice choice, family->choose(request.budget, request.offload));
  CLEAVE_TRY(graph, family->program(choice.member));
  return Rematerialized{.recompute_ns = family->members()[choice.member].recompute_ns,
                        .arena_room = choice.arena_room};
}

}  // namespace cleave
