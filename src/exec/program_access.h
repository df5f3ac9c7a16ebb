// The programs behind public handles.
#pragma once
#include "cleave/train.h"
#include "exec/sized_programs.h"

namespace cleave {

struct ProgramAccess {
  // Throws (user) for an empty handle.
  static const SizedPrograms& programs(const CompiledFunction& f);
  // Of a step, with its learning rates in the order of the placeholders that hold them
  // (ProgramCode::own), by their names in the store.
  struct Step {
    const SizedPrograms& programs;          // that update the parameters
    const SizedPrograms* gather = nullptr;  // of the other micro steps
    int64_t accumulate = 1;
    Variable micro_steps;
    NonFinite on_nonfinite = NonFinite::keep;
    std::vector<std::pair<std::string, Variable>> learning_rates;
  };
  // Throws (user) for an empty handle, and where the model isn't as it was when it was compiled.
  static Step step(const TrainStep& s);
};

}  // namespace cleave
