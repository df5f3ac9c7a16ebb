// Programs as the stages make them, for the decisions of src/remat.
#pragma once
#include "backend/make_backend.h"
#include "compile/stage_options.h"
#include "ir/op_def.h"
#include "remat/program_planner.h"

namespace cleave {

// `ops` must outlive it. Reads only `target` and `fuse` of the options.
class StagePlanner : public ProgramPlanner {
 public:
  StagePlanner(const OpRegistry& ops, const StageOptions& options)
      : StagePlanner(ops, make_backend(options.target), options.fuse) {}
  StagePlanner(const OpRegistry& ops, std::shared_ptr<Backend> backend, bool fuses)
      : ops_(ops), backend_(std::move(backend)), fuses_(fuses) {}

  const MachineRates& rates() const override { return backend_->rates(); }
  const OpRegistry& ops() const override { return ops_; }
  Status fuse(Graph& graph) override;
  Status prepare_cut(Graph& graph) override;
  Result<ProgramCalls> calls(const Graph& graph) override;
  Result<ProgramBytes> bytes(const Graph& graph, const Wanted& wanted) override;

 private:
  const OpRegistry& ops_;
  const std::shared_ptr<Backend> backend_;
  const bool fuses_;
};

}  // namespace cleave
