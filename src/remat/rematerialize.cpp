#include "remat/rematerialize.h"

#include "remat/cheap_remat.h"

namespace cleave {

Result<int64_t> rematerialize(Graph& graph, const std::shared_ptr<ProgramPlanner>& planner,
                              const RematRequest& request) {
  if (!request.budget.given()) {
    CLEAVE_TRY(const CheapRemat kept, cheap_remat(graph, planner->rates()));
    return kept.recompute_ns;
  }
  std::shared_ptr<BudgetFamily> family = request.family;
  if (!family) {
    CLEAVE_TRY(BudgetFamily made, BudgetFamily::make(graph, planner, request.forward_results));
    family = std::make_shared<BudgetFamily>(std::move(made));
  }
  CLEAVE_TRY(const size_t member, family->choose(request.budget));
  CLEAVE_TRY(graph, family->program(member));
  return family->members()[member].recompute_ns;
}

}  // namespace cleave
