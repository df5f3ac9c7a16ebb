#include "compile/plan_program.h"

#include "lower/join_products.h"
#include "lower/lower_graph.h"
#include "lower/plan_memory.h"

namespace cleave {

Result<MeasuredProgram> measure_program(const Graph& graph, Backend& backend, Save save) {
  CLEAVE_TRY(LoweredProgram lowered, lower_graph(graph, backend.fuse_costs().choices));
  CLEAVE_TRY(LoweredProgram linked, link_library(std::move(lowered), backend));
  CLEAVE_TRY(LoweredProgram laid, lay_in_place(std::move(linked), backend, save));
  const MemoryBound bound = measure_memory(laid);
  return MeasuredProgram{std::move(laid), bound};
}

Result<PlannedProgram> plan_program(const Graph& graph, Backend& backend) {
  CLEAVE_TRY(MeasuredProgram measured, measure_program(graph, backend));
  return plan_joined(std::move(measured.lowered));
}

}  // namespace cleave
