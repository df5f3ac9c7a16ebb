#include "compile/code_stages.h"

#include "lower/add_workspace.h"
#include "lower/align_storages.h"
#include "lower/drop_redundant_checks.h"
#include "lower/join_products.h"
#include "lower/lower_graph.h"
#include "lower/offload.h"
#include "lower/save_memory.h"
#include "lower/update_in_place.h"

namespace cleave {

Result<LoweredProgram> lower(const Graph& graph, const LowerChoices& choices) {
  CLEAVE_TRY(LoweredProgram out, lower_graph(graph, choices));
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

Result<LoweredProgram> lay_in_place(LoweredProgram program, const Backend& backend, Save save) {
  if (!backend.device().is_cpu()) align_storages(program);
  drop_redundant_checks(program);
  update_in_place(program, backend.device().is_cpu() ? BehindFailure::nothing_runs
                                                     : BehindFailure::library_calls_run);
  if (save == Save::memory) CLEAVE_CHECK(save_memory(program));
  return program;
}

Result<LoweredProgram> bring_within(LoweredProgram program, int64_t room, const Backend& backend) {
  if (!offload(program, room, backend.rates()))
    return bug("offloading doesn't bring the program within {} B", room);
  return program;
}

namespace {

Result<schedule::SharedKernels> functions_of(const std::vector<loop::Kernel>& kernels,
                                             const Backend& backend, CodePool* pool) {
  if (backend.interprets()) return schedule::SharedKernels();
  if (pool == nullptr) return schedule::share_kernels(kernels);
  return pool->use(kernels);
}

}  // namespace

Result<ScheduledProgram> schedule_kernels(LoweredProgram program, const Backend& backend,
                                          CodePool* pool) {
  CLEAVE_TRY(program.kernels, backend.schedule(program.kernels));
  for (const loop::Kernel& k : program.kernels) CLEAVE_CHECK(loop::verify(k));
  CLEAVE_TRY(schedule::SharedKernels functions, functions_of(program.kernels, backend, pool));
  for (const loop::Kernel& k : functions.kernels) CLEAVE_CHECK(loop::verify(k));
  for (Thunk& s : program.thunks)
    if (auto* call = std::get_if<KernelCall>(&s.work); call && !functions.uses.empty()) {
      const std::vector<int64_t>& numbers = functions.uses[call->kernel].scalars;
      call->scalars.insert(call->scalars.end(), numbers.begin(), numbers.end());
    }
  return ScheduledProgram{std::move(program), std::move(functions)};
}

Result<EmittedProgram> emit_kernels(ScheduledProgram program, const Backend& backend,
                                    CodePool* pool) {
  const bool is_pooled = pool != nullptr && !backend.interprets();
  CLEAVE_TRY(EmittedCode code, is_pooled ? pool->emit(program.lowered, program.functions)
                                         : backend.emit(program.lowered, program.functions));
  return EmittedProgram{std::move(program.lowered), std::move(code)};
}

Result<PlacedProgram> place_storages(EmittedProgram program) {
  CLEAVE_TRY(PlannedProgram planned, plan_joined(std::move(program.lowered)));
  return PlacedProgram{std::move(planned), std::move(program.code)};
}

Result<BuiltProgram> build_code(PlannedProgram planned, EmittedCode& code,
                                const std::shared_ptr<Backend>& backend, CodePool* pool,
                                Executor& executor, cache::Store* cache) {
  if (pool && !backend->interprets()) CLEAVE_CHECK(pool->build(code, executor, cache));
  BuiltProgram out{.planned = std::move(planned), .backend = backend};
  LoweredProgram& lowered = out.planned.lowered;
  CLEAVE_TRY(out.code, backend->build(lowered, code, executor, cache));
  for (const Thunk& thunk : lowered.thunks) out.traffic.push_back(traffic_of(lowered, thunk));
  lowered.kernels = {};
  return out;
}

}  // namespace cleave
