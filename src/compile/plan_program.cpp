#include "compile/plan_program.h"

#include "lower/add_workspace.h"
#include "lower/drop_redundant_checks.h"
#include "lower/lower_graph.h"
#include "lower/plan_memory.h"
#include "lower/save_memory.h"
#include "lower/update_in_place.h"

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

Result<PlannedProgram> measure_program(const Graph& graph, runtime::LibraryCache& cache,
                                       Save save) {
  PlannedProgram out;
  CLEAVE_TRY(out.lowered, lower_graph(graph));
  drop_redundant_checks(out.lowered);
  update_in_place(out.lowered);
  if (save == Save::memory) save_memory(out.lowered);
  CLEAVE_CHECK(add_library(out.lowered, cache));
  measure_memory(out.lowered);
  return out;
}

Result<PlannedProgram> plan_program(const Graph& graph, runtime::LibraryCache& cache) {
  CLEAVE_TRY(PlannedProgram out, measure_program(graph, cache));
  CLEAVE_CHECK(plan_memory(out.lowered));
  return out;
}

}  // namespace cleave
