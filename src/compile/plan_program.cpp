#include "compile/plan_program.h"

#include "lower/add_workspace.h"
#include "lower/drop_redundant_checks.h"
#include "lower/lower_graph.h"
#include "lower/plan_memory.h"
#include "lower/save_memory.h"
#include "lower/update_in_place.h"

namespace cleave {

Result<LibraryFunctions> add_library(LoweredProgram& program, Backend& backend) {
  LibraryFunctions functions;
  for (Thunk& thunk : program.thunks) {
    auto* call = std::get_if<LibraryCall>(&thunk.work);
    if (!call) continue;
    CLEAVE_TRY(LibraryFunctionPtr function, backend.library(call->spec));
    call->workspace = add_workspace(program, thunk.name, function->scratch_bytes());
    functions.push_back(std::move(function));
  }
  return functions;
}

Result<MeasuredProgram> measure_program(const Graph& graph, Backend& backend, Save save) {
  CLEAVE_TRY(LoweredProgram lowered, lower_graph(graph));
  drop_redundant_checks(lowered);
  update_in_place(lowered);
  if (save == Save::memory) save_memory(lowered);
  CLEAVE_CHECK(add_library(lowered, backend));
  const MemoryBound bound = measure_memory(lowered);
  return MeasuredProgram{std::move(lowered), bound};
}

Result<PlannedProgram> plan_program(const Graph& graph, Backend& backend) {
  CLEAVE_TRY(MeasuredProgram measured, measure_program(graph, backend));
  return plan_memory(std::move(measured.lowered));
}

}  // namespace cleave
