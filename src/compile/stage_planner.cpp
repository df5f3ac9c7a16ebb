#include "compile/stage_planner.h"

#include "compile/plan_program.h"
#include "compile/stages.h"
#include "compile/step_program.h"
#include "ir/result_strides.h"
#include "lower/fuse.h"
#include "lower/plan_memory.h"

namespace cleave {

Status StagePlanner::fuse(Graph& graph) {
  if (!fuses_) return {};
  const ResultStrides strides(graph);
  CLEAVE_CHECK(fuse_calls(graph, ops_, rates_));
  return strides.restore(graph, ops_);
}

Status StagePlanner::prepare_cut(Graph& graph) {
  CompileOptions options;
  options.is_cut = true;
  options.passes.none = true;
  options.target = library_.target();
  options.fuse = fuses_;
  return run_stages(Stage::verify, Stage::fuse, graph, ops_, options);
}

Result<StepProgram> StagePlanner::steps(const Graph& graph) {
  CLEAVE_TRY(const PlannedProgram plain, measure_program(graph, library_, Save::nothing));
  return step_program(graph, plain.lowered);
}

Result<ProgramBytes> StagePlanner::bytes(const Graph& graph, const Wanted& wanted) {
  CLEAVE_TRY(PlannedProgram plan, measure_program(graph, library_));
  ProgramBytes out{plan.lowered.placeholder_bytes, plan.lowered.arena_lower_bound};
  if (!wanted(out)) return out;
  CLEAVE_CHECK(plan_memory(plan.lowered));
  out.arena = plan.lowered.arena_bytes;
  out.is_exact = true;
  return out;
}

}  // namespace cleave
