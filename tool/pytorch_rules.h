// The rules of mode pytorch as options of a command.
//
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
  std::vector<std::string> bans;  // NAME=on|off
  bool aggressive = false, recompute_views = false, pay_for_params = false;
  int max_distance = PytorchBans{}.max_distance;

  void add_to(OptionList& options);
  bool given() const;
  // Errors (user): an unknown rule, or neither on nor off.
  Status apply(PytorchOptions& options) const;
};

// PyTorch's activation_memory_budget, a fraction: "0.25", ".25" or "25%". Error (user): no number.
Result<double> pytorch_budget(const std::string& text);

}  // namespace cleave::tool
