// What mode pytorch takes beside its budget, as options of a command.
//
//   --solver NAME        of the knapsack at a budget: dp, greedy, ilp
//   --estimator NAME     of the time of running a call again: flops, testing, profile
//   --ban NAME=on|off    a rule that keeps calls from running again; all are on
//   --aggressive         all of them off but `reductions`
//   --recompute-views    views are never saved, and may always run again
//   --pay-for-params     saving a parameter costs its bytes, as in 2024
//   --max-distance N     calls farther from the backward don't run again
#pragma once
#include "cut/pytorch_partition.h"
#include "tool/option_list.h"

namespace cleave::tool {

struct PytorchRules {
  std::string solver, estimator;  // empty: the defaults
  std::vector<std::string> bans;  // NAME=on|off
  bool aggressive = false, recompute_views = false, pay_for_params = false;
  int max_distance = PytorchBans{}.max_distance;

  void add_to(OptionList& options);
  // Errors (user): an option of another mode than pytorch.
  Status check(std::string_view mode) const;
  // `budget`: the text of --budget, a fraction; empty: 1. Errors (user): a value that an option
  // doesn't have.
  Result<PytorchOptions> options(const std::string& budget) const;

 private:
  bool given() const;
};

// PyTorch's activation_memory_budget, a fraction: "0.25", ".25" or "25%". Error (user): no number.
Result<double> pytorch_budget(const std::string& text);

}  // namespace cleave::tool
