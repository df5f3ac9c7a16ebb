#include "inspect/halves_traffic.h"

#include <optional>

#include "compile/plan_program.h"
#include "cut/exact_partition.h"
#include "ir/specialize.h"

namespace cleave {

Result<std::vector<KernelTraffic>> graph_traffic(const Graph& g, const OpRegistry& ops, bool fuse) {
  SymbolValues values;
  for (const Placeholder& p : g.placeholders())
    if (p.role == Role::symint)
      values[g.name(p.value)] = g.env().hint_of(Dim::symbol(g.name(p.value)));
  CLEAVE_TRY(Graph graph, specialize(g, values));
  CLEAVE_CHECK(prepare_graph(graph, ops, fuse));
  runtime::GemmCache products;
  CLEAVE_TRY(const PlannedProgram program, measure_program(graph, products));
  return traffic_of(program.lowered);
}

namespace {

// A saved placeholder is there already: nothing is written for it.
Graph without_placeholders(const Graph& g) {
  Graph out = g;
  std::vector<Return> returns;
  for (const Return& r : g.returns())
    if (g.value(r.value).def.valid() || r.kind != ReturnKind::result) returns.push_back(r);
  out.set_returns(std::move(returns));
  return out;
}

}  // namespace

Result<HalvesTraffic> halves_traffic(const Graph& joint, const OpRegistry& ops, bool fuse) {
  constexpr size_t most_cuts = 64;
  CLEAVE_TRY(const JointView view, JointView::make(joint));
  CLEAVE_TRY(CutGraph graph, CutGraph::make(view, {}, Returned::free));
  CLEAVE_TRY(const ExactCut exact, ExactCut::make(std::move(graph)));
  std::optional<HalvesTraffic> best;
  const size_t step = (exact.points().size() + most_cuts - 1) / most_cuts;
  for (size_t k = 0; k < exact.points().size(); k += step) {
    CLEAVE_TRY(const Partition cut, exact.partition_at(k));
    HalvesTraffic now;
    for (const Graph* half : {&cut.forward, &cut.backward}) {
      CLEAVE_TRY(const auto kernels, graph_traffic(without_placeholders(*half), ops, fuse));
      now.kernels.insert(now.kernels.end(), kernels.begin(), kernels.end());
    }
    for (const SavedValue& v : cut.saved) now.saved.push_back(v.name);
    if (!best || total_bytes(now.kernels) < total_bytes(best->kernels)) best = std::move(now);
  }
  return *std::move(best);
}

}  // namespace cleave
