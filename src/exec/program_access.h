// The programs behind public handles.
#pragma once
#include "cleave/train.h"
#include "exec/sized_programs.h"

namespace cleave {

struct ProgramAccess {
  // Throws (user) for an empty handle.
  static const SizedPrograms& programs(const CompiledFunction& f);
  // Of a step that isn't accumulated, and its learning rates in the order of the placeholders that
  // hold them (ProgramCode::own), with their names in the store.
  struct Step {
    const SizedPrograms& programs;
    int64_t accumulate = 1;
    NonFinite on_nonfinite = NonFinite::keep;
    std::vector<std::pair<std::string, Variable>> learning_rates;
  };
  static Step step(const TrainStep& s);
};

}  // namespace cleave
