#include "lower/fuse.h"

#include <set>

#include "ir/edit.h"
#include "ir/subgraph.h"
#include "lower/fuser.h"

namespace cleave {

Status Fuser::run(const OpRegistry& ops) {
  const OpDef* fused = ops.find("fused");
  if (!fused) return {};
  order_ = g_.order();
  repeated_ = repeated_calls(g_);
  for (const Return& r : g_.returns()) returned_[r.value.v] = true;
  describe();
  for (const NodeId n : order_) place(n);
  return rewrite(*fused);
}

namespace {

void collect_graph_names(const Graph& g, std::set<std::string>& names) {
  for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n))
    for (const auto& [arg, value] : g.node(n).attrs.given())
      if (const GraphRef* sub = value.get<GraphRef>(); sub && names.insert((*sub)->name()).second)
        collect_graph_names(**sub, names);
}

}  // namespace

Status fuse_calls(Graph& graph, const OpRegistry& ops, const FuseCosts& costs) {
  std::set<std::string> taken = {graph.name()};
  collect_graph_names(graph, taken);
  CLEAVE_CHECK(rewrite_subgraphs(graph, [&](Graph& sub) -> Result<bool> {
    CLEAVE_CHECK(Fuser(sub, costs, taken).run(ops));
    return true;
  }));
  return Fuser(graph, costs, taken).run(ops);
}

}  // namespace cleave
