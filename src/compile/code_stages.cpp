#include "compile/code_stages.h"

#include "lower/add_workspace.h"
#include "lower/drop_redundant_checks.h"
#include "lower/lower_graph.h"
#include "lower/plan_memory.h"
#include "lower/save_memory.h"
#include "lower/update_in_place.h"

namespace cleave {

Result<LoweredProgram> lower(const Graph& graph) {
  CLEAVE_TRY(LoweredProgram out, lower_graph(graph));
  for (const loop::Kernel& k : out.kernels) CLEAVE_CHECK(loop::verify(k));
  return out;
}

Result<LoweredProgram> link_library(LoweredProgram program, Backend& backend) {
  for (Thunk& thunk : program.thunks) {
    auto* call = std::get_if<LibraryCall>(&thunk.work);
    if (!call) continue;
    CLEAVE_TRY(call->function, backend.library(call->spec));
    call->workspace = add_workspace(program, thunk.name, call->function->scratch_bytes());
  }
  return program;
}

Result<LoweredProgram> lay_in_place(LoweredProgram program, Save save) {
  drop_redundant_checks(program);
  update_in_place(program);
  if (save == Save::memory) CLEAVE_CHECK(save_memory(program));
  return program;
}

Result<ScheduledProgram> schedule_kernels(LoweredProgram program, const Backend& backend) {
  CLEAVE_TRY(KernelSchedules schedules, backend.schedule(program.kernels));
  for (const loop::Kernel& k : schedules.kernels) CLEAVE_CHECK(loop::verify(k));
  for (const loop::Kernel& k : schedules.functions.kernels) CLEAVE_CHECK(loop::verify(k));
  program.kernels = std::move(schedules.kernels);
  for (Thunk& s : program.thunks)
    if (auto* call = std::get_if<KernelCall>(&s.work); call && !schedules.functions.uses.empty()) {
      const std::vector<int64_t>& numbers = schedules.functions.uses[call->kernel].scalars;
      call->scalars.insert(call->scalars.end(), numbers.begin(), numbers.end());
    }
  return ScheduledProgram{std::move(program), std::move(schedules.functions)};
}

Result<EmittedProgram> emit_kernels(ScheduledProgram program, const Backend& backend) {
  CLEAVE_TRY(EmittedCode code, backend.emit(program.lowered, program.functions));
  return EmittedProgram{std::move(program.lowered), std::move(code)};
}

Result<PlacedProgram> place_storages(EmittedProgram program) {
  CLEAVE_TRY(PlannedProgram planned, plan_memory(std::move(program.lowered)));
  return PlacedProgram{std::move(planned), std::move(program.code)};
}

Result<BuiltProgram> build_code(PlannedProgram planned, const EmittedCode& code,
                                const std::shared_ptr<Backend>& backend, Executor& executor,
                                cache::Store* cache) {
  BuiltProgram out{.planned = std::move(planned), .backend = backend};
  LoweredProgram& lowered = out.planned.lowered;
  CLEAVE_TRY(out.code, backend->build(lowered, code, executor, cache));
  for (const Thunk& thunk : lowered.thunks) out.traffic.push_back(traffic_of(lowered, thunk));
  lowered.kernels = {};
  return out;
}

}  // namespace cleave
