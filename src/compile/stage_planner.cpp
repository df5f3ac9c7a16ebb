#include "compile/stage_planner.h"

#include "compile/plan_program.h"
#include "compile/program_calls.h"
#include "compile/stages.h"
#include "ir/result_strides.h"
#include "lower/fuse.h"
#include "lower/join_products.h"
#include "lower/offload.h"

namespace cleave {

Status StagePlanner::fuse(Graph& graph) {
  if (!fuses_) return {};
  const ResultStrides strides(graph);
  CLEAVE_CHECK(fuse_calls(graph, ops_, backend_->fuse_costs()));
  return strides.restore(graph, ops_);
}

Status StagePlanner::prepare_cut(Graph& graph) {
  StageOptions options;
  options.is_cut = true;
  options.passes_off = {"all"};
  options.target = backend_->target();
  options.device = device_;
  options.backend = backend_;
  options.fuse = fuses_;
  return run_stages(Stage::verify, Stage::fuse, graph, ops_, options);
}

Result<ProgramCalls> StagePlanner::calls(const Graph& graph) {
  CLEAVE_TRY(const MeasuredProgram plain, measure_program(graph, *backend_, Save::nothing));
  return program_calls(graph, plain.lowered);
}

Result<ProgramBytes> StagePlanner::bytes(const Graph& graph, const Wanted& wanted) {
  CLEAVE_TRY(MeasuredProgram measured, measure_program(graph, *backend_));
  ProgramBytes out{measured.bound.placeholders, measured.bound.arena};
  if (!wanted(out)) return out;
  CLEAVE_TRY(const PlannedProgram plan, plan_joined(std::move(measured.lowered)));
  out.arena = plan.arena_bytes;
  out.is_exact = true;
  return out;
}

Result<std::optional<ProgramPlanner::Offloaded>> StagePlanner::offloaded(const Graph& graph,
                                                                         int64_t room) {
  if (backend_->rates().host_gigabytes <= 0) return std::optional<Offloaded>();
  CLEAVE_TRY(MeasuredProgram measured, measure_program(graph, *backend_));
  const int64_t placeholders = measured.bound.placeholders;
  if (!offload(measured.lowered, room - placeholders, backend_->rates()))
    return std::optional<Offloaded>();
  CLEAVE_TRY(const PlannedProgram plan, plan_joined(std::move(measured.lowered)));
  return std::optional<Offloaded>(
      {{placeholders, plan.arena_bytes, true}, copied_out(plan.lowered)});
}

}  // namespace cleave
