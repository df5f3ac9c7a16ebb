// Programs as the stages make them, for the decisions of src/remat.
#pragma once
#include "compile/stages.h"
#include "ir/op_def.h"
#include "remat/program_planner.h"

namespace cleave {

// `ops` must outlive it. Reads only what runs the program and `fuse` of the options.
class StagePlanner : public ProgramPlanner {
 public:
  StagePlanner(const OpRegistry& ops, const StageOptions& options)
      : StagePlanner(ops, planning_backend(options), options.fuse, options.device) {}
  StagePlanner(const OpRegistry& ops, std::shared_ptr<Backend> backend, bool fuses,
               Device device = {})
      : ops_(ops), backend_(std::move(backend)), fuses_(fuses), device_(device) {}

  const MachineRates& rates() const override { return backend_->rates(); }
  const OpRegistry& ops() const override { return ops_; }
  Status fuse(Graph& graph) override;
  Status prepare_cut(Graph& graph) override;
  Result<ProgramCalls> calls(const Graph& graph) override;
  Result<ProgramBytes> bytes(const Graph& graph, const Wanted& wanted) override;
  Result<std::optional<Offloaded>> offloaded(const Graph& graph, int64_t room) override;

 private:
  const OpRegistry& ops_;
  const std::shared_ptr<Backend> backend_;
  const bool fuses_;
  const Device device_;
};

}  // namespace cleave
