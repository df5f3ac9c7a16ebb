#include "inspect/program_traffic.h"

#include <algorithm>

#include "backend/make_backend.h"
#include "compile/plan_program.h"
#include "compile/stages.h"
#include "ir/specialize.h"
#include "lower/check_devices.h"

namespace cleave {
namespace {

std::vector<std::string> saved_in(const Graph& g) {
  std::vector<bool> backward(g.value_capacity()), listed(g.value_capacity());
  for (const Placeholder& p : g.placeholders()) backward[p.value.v] = p.role == Role::tangent;
  std::vector<std::string> out;
  for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n)) {
    const Node& node = g.node(n);
    const auto depends_on_tangents = [&](ValueId v) { return v.valid() && backward[v.v]; };
    if (!std::ranges::any_of(node.inputs, depends_on_tangents)) continue;
    for (uint32_t k = 0; k < node.output_count; ++k) backward[node.out(k).v] = true;
    for (const ValueId v : node.inputs) {
      if (!v.valid() || backward[v.v] || listed[v.v]) continue;
      listed[v.v] = true;
      out.push_back(g.name(v));
    }
  }
  return out;
}

}  // namespace

Result<ProgramTraffic> program_traffic(const Graph& g, const OpRegistry& ops,
                                       const StageOptions& options) {
  CLEAVE_CHECK(check_devices(g, options.device));
  SymbolValues values;
  for (const Placeholder& p : g.placeholders())
    if (p.role == Role::symint)
      values[g.name(p.value)] = g.env().hint_of(Dim::symbol(g.name(p.value)));
  CLEAVE_TRY(Graph graph, specialize(g, values));
  CLEAVE_CHECK(run_stages(Stage::verify, Stage::fuse, graph, ops, options));
  // The bytes that kernels move don't depend on the target, only their workspaces do.
  const std::shared_ptr<Backend> backend =
      options.device.is_cpu() ? make_backend(Target{}) : planning_backend(options);
  CLEAVE_TRY(const MeasuredProgram program, measure_program(graph, *backend));
  return ProgramTraffic{traffic_of(program.lowered), saved_in(graph)};
}

}  // namespace cleave
