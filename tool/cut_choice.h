// The cut of a joint graph that --mode and --budget ask for, with what explains it.
#pragma once
#include "compile/stage_planner.h"
#include "cut/partition_statistics.h"
#include "cut/pytorch_partition.h"
#include "remat/explain_cut.h"
#include "tool/pytorch_rules.h"

namespace cleave::tool {

struct CutOptions {
  std::string mode = "exact", budget, saved_bytes;
  PytorchRules rules;

  void add_to(OptionList& options);
  // Errors (user): an option of another mode, a value that it doesn't have.
  Status check() const;
  Result<PytorchOptions> pytorch() const;
};

struct FoundCut {
  Partition partition;
  std::optional<int64_t> planned_peak, lower_bound, budget;
  int64_t cost_ns = 0;
  double solve_ms = 0;                             // without explaining
  std::vector<ValueExplanation> explanation = {};  // of mode exact, if it is asked for
  std::optional<PytorchAccount> account = {};      // of mode pytorch
};

enum class Explained { no, reasons, with_peaks };

// Simplifies `joint` as the mode does, and cuts it. Errors: those of the options and of the mode.
Result<FoundCut> find_cut(const CutOptions& options, Graph& joint, const OpRegistry& ops,
                          const StageOptions& compile, Explained explained);

// Mode exact counts by the reasons of its explanation, the others by those of the partition.
std::vector<ReasonCount> reasons_of(const FoundCut& cut);

}  // namespace cleave::tool
