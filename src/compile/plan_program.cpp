#include "compile/plan_program.h"

namespace cleave {

Result<std::vector<runtime::LibraryFunctionPtr>> add_library(LoweredProgram& program,
                                                             runtime::LibraryCache& cache) {
  std::vector<runtime::LibraryFunctionPtr> functions;
  for (Step& step : program.steps) {
    auto* call = std::get_if<LibraryCall>(&step.work);
    if (!call) continue;
    CLEAVE_TRY(runtime::LibraryFunctionPtr function, cache.get(call->spec));
    call->workspace = add_workspace(program, step.name, function->scratch_bytes());
    functions.push_back(std::move(function));
  }
  return functions;
}

Result<MeasuredProgram> measure_program(const Graph& graph, runtime::LibraryCache& cache,
                                        Save save) {
  CLEAVE_TRY(LoweredProgram lowered, lower_graph(graph));
  drop_redundant_checks(lowered);
  update_in_place(lowered);
  if (save == Save::memory) save_memory(lowered);
  CLEAVE_CHECK(add_library(lowered, cache));
  const MemoryBound bound = measure_memory(lowered);
  return MeasuredProgram{std::move(lowered), bound};
}

Result<PlannedProgram> plan_program(const Graph& graph, runtime::LibraryCache& cache) {
  CLEAVE_TRY(MeasuredProgram measured, measure_program(graph, cache));
  return plan_memory(std::move(measured.lowered));
}

}  // namespace cleave
