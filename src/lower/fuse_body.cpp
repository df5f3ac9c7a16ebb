#include "lower/fuse_body.h"

#include <map>
#include <unordered_set>

namespace cleave {

FuseBody body_of(const Graph& g, const FuseCalls& calls, const FuseGroups& groups, int32_t group) {
  FuseBody out;
  std::map<int64_t, NodeId> nodes;
  std::unordered_set<uint32_t> inside;
  std::vector<NodeId> open = groups.all[group].nodes;
  while (!open.empty()) {
    const NodeId n = open.back();
    open.pop_back();
    if (!nodes.emplace(calls[n].position, n).second) continue;
    inside.insert(n.v);
    for (const ValueId v : g.node(n).inputs)
      if (v.valid())
        if (const FuseCall* maker = calls.maker_of(g, v); maker && maker->is_through())
          open.push_back(g.value(v).def);
  }
  for (const auto& [position, n] : nodes) {
    out.nodes.push_back(n);
    out.kernels += calls[n].kind != FuseCall::Kind::view;
    for (const ValueId v : g.node(n).inputs)
      if (v.valid() && !(g.value(v).def.valid() && inside.contains(g.value(v).def.v)))
        add_once(out.operands, v);
  }
  for (const NodeId n : groups.all[group].nodes)
    for (uint32_t k = 0; k < g.node(n).output_count; ++k)
      if (const ValueId v = g.node(n).out(k); is_read_outside(g, calls, groups, v, group))
        out.results.push_back(v);
  return out;
}

}  // namespace cleave
