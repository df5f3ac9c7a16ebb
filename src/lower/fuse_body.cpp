#include "lower/fuse_body.h"

#include <map>
#include <unordered_map>
#include <unordered_set>

#include "loop/lower_rule.h"
#include "lower/place.h"

namespace cleave {
namespace {

// Whether some view of the calls is none of memory in which their operands lie row by row, nor can
// they be written so that it is one (place.h).
bool copies_view(const Graph& g, const FuseCalls& calls, const std::vector<NodeId>& nodes) {
  std::unordered_map<uint32_t, loop::Layout> layouts;  // of the views
  for (const NodeId n : nodes) {
    if (is_join(g.view(n))) return false;
    if (calls[n].kind != FuseCall::Kind::view) continue;
    const OpView op = g.view(n);
    const ValueId in = g.node(n).inputs[0];
    const auto known = layouts.find(in.v);
    const loop::Layout from = known == layouts.end()
                                  ? loop::Layout::contiguous(static_shape(op.in_type(0)))
                                  : known->second;
    for (uint32_t k = 0; k < g.node(n).output_count; ++k) {
      const auto layout =
          std::get<loop::ViewRule>((*op.def().lower)->form).layout(op, from, static_cast<int>(k));
      if (!layout) {
        const ValueId v = g.node(n).out(k);
        const auto made =
            made_before_views(g, v, loop::Layout::contiguous(static_shape(g.type(v))));
        if (!made || !can_write(g, *made)) return true;
        break;
      }
      layouts.insert_or_assign(g.node(n).out(k).v, *layout);
    }
  }
  return false;
}

}  // namespace

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
  out.copies_view = copies_view(g, calls, out.nodes);
  for (const NodeId n : groups.all[group].nodes)
    for (uint32_t k = 0; k < g.node(n).output_count; ++k)
      if (const ValueId v = g.node(n).out(k); is_read_outside(g, calls, groups, v, group))
        out.results.push_back(v);
  return out;
}

}  // namespace cleave
