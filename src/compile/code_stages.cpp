#include "compile/code_stages.h"

#include "compile/plan_program.h"
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

Result<LoweredProgram> lay_in_place(LoweredProgram program) {
  drop_redundant_checks(program);
  update_in_place(program);
  save_memory(program);
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

Result<LinkedProgram> link_library(EmittedProgram program, Backend& backend) {
  CLEAVE_TRY(LibraryFunctions library, add_library(program.lowered, backend));
  return LinkedProgram{std::move(program.lowered), std::move(program.code), std::move(library)};
}

Result<PlacedProgram> place_storages(LinkedProgram program) {
  CLEAVE_TRY(PlannedProgram planned, plan_memory(std::move(program.lowered)));
  return PlacedProgram{std::move(planned), std::move(program.code), std::move(program.library)};
}

Result<BuiltProgram> build_code(PlacedProgram program,
                                const std::shared_ptr<const Backend>& backend, Executor& executor) {
  CLEAVE_TRY(BuiltCode code, backend->build(program.planned.lowered, program.code, executor));
  return BuiltProgram{std::move(program.planned), std::move(program.library), std::move(code),
                      backend};
}

}  // namespace cleave
