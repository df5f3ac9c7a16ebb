#include "lower/fuse.h"

#include <set>

#include "ir/subgraph.h"
#include "lower/fuse_plan.h"
#include "lower/fuse_returned.h"
#include "lower/fuse_rewrite.h"

namespace cleave {
namespace {

void collect_graph_names(const Graph& g, std::set<std::string>& names) {
  for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n))
    for (const auto& [arg, value] : g.node(n).attrs.given())
      if (const GraphRef* sub = value.get<GraphRef>(); sub && names.insert((*sub)->name()).second)
        collect_graph_names(**sub, names);
}

}  // namespace

Status fuse_calls(Graph& graph, const OpRegistry& ops, const FuseCosts& costs) {
  const OpDef* fused = ops.find("fused");
  if (!fused) return {};
  std::set<std::string> taken = {graph.name()};
  collect_graph_names(graph, taken);
  const auto fuse_one = [&](Graph& g) -> Status {
    CLEAVE_CHECK(copy_returned_views(g, ops));
    const FusePlan plan = plan_fusion(g, costs);
    return rewrite_groups(g, plan.calls, plan.groups, *fused, taken);
  };
  CLEAVE_CHECK(rewrite_subgraphs(graph, [&](Graph& sub) -> Result<bool> {
    CLEAVE_CHECK(fuse_one(sub));
    return true;
  }));
  return fuse_one(graph);
}

}  // namespace cleave
