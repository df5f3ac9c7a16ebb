// Programs as the stages make them, for the choices of remat/.
#pragma once
#include "compile/executable.h"
#include "ir/op_def.h"
#include "remat/program_planner.h"
#include "runtime/library.h"

namespace cleave {

// `ops` must outlive it. Of the options it takes the target, the rates and `fuse`.
class StagePlanner : public ProgramPlanner {
 public:
  StagePlanner(const OpRegistry& ops, const CompileOptions& options)
      : ops_(ops), rates_(options.target.rates), fuses_(options.fuse), library_(options.target) {}

  const MachineRates& rates() const override { return rates_; }
  Status fuse(Graph& graph) override;
  Status prepare_cut(Graph& graph) override;
  Result<StepProgram> steps(const Graph& graph) override;
  Result<ProgramBytes> bytes(const Graph& graph, const Wanted& wanted) override;

 private:
  const OpRegistry& ops_;
  const MachineRates rates_;
  const bool fuses_;
  runtime::LibraryCache library_;
};

}  // namespace cleave
