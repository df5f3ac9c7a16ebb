// What a target decides about lowering (FuseCosts has the rest).
#pragma once
#include "lower/fuse_cost.h"

namespace cleave {

struct LowerChoices {
  FoldParts cut = {};
  bool folds_casts = true;  // FuseCosts::folds_casts

  LowerChoices() = default;
  LowerChoices(const FoldParts& of) : cut(of) {}
  LowerChoices(const FuseCosts& costs) : cut(costs.cut), folds_casts(costs.folds_casts) {}
};

}  // namespace cleave
