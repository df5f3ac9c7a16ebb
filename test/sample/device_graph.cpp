#include "test/sample/device_graph.h"

#include <map>

namespace cleave::random {
namespace {

using Moved = std::map<GraphRef, GraphRef>;  // one that is referred to twice stays one

Result<Graph> moved(const Graph& g, Device device, Moved& done);

Result<AttrValue> moved(const AttrValue& v, Device device, Moved& done) {
  const GraphRef* sub = v.get<GraphRef>();
  if (!sub || !*sub) return v;
  if (!done.contains(*sub)) {
    CLEAVE_TRY(Graph made, moved(**sub, device, done));
    done[*sub] = std::make_shared<const Graph>(std::move(made));
  }
  return AttrValue(done[*sub]);
}

Result<Graph> moved(const Graph& g, Device device, Moved& done) {
  Graph out(g.name());
  std::vector<ValueId> map(g.value_capacity());
  for (const Placeholder& p : g.placeholders()) {
    Type t = g.type(p.value);
    if (p.role != Role::symint) t.device = device;
    CLEAVE_TRY(map[p.value.v],
               out.add_placeholder(p.role, g.name(p.value), t, p.wants_grad, p.sym));
  }
  for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n)) {
    const Node& node = g.node(n);
    NodeSpec spec{.op = node.op, .inputs = {}, .list_size = node.list_size, .attrs = node.attrs};
    for (const ValueId v : node.inputs) spec.inputs.push_back(v.valid() ? map[v.v] : v);
    for (const auto& [arg, value] : node.attrs.given()) {
      CLEAVE_TRY(AttrValue there, moved(value, device, done));
      spec.attrs.set(arg, std::move(there));
    }
    if (const int arg = node.op->schema.find("device"); arg >= 0 && node.inputs.empty())
      spec.attrs.set(static_cast<uint16_t>(arg), fmt::format("cuda:{}", device.index));
    spec.tag = node.tag;
    for (uint32_t k = 0; k < node.output_count; ++k) spec.names.push_back(g.name(node.out(k)));
    CLEAVE_TRY(const NodeId made, out.add_node(std::move(spec)));
    for (uint32_t k = 0; k < node.output_count; ++k) {
      map[node.out(k).v] = out.node(made).out(k);
      if (const auto& strides = g.type(node.out(k)).strides)
        out.set_strides(map[node.out(k).v], strides);
    }
  }
  for (const Return& r : g.returns()) {
    const ValueId value = map[r.value.v];
    // Statistics of a half tensor are f32 on cuda, so what was the target's dtype may not be.
    if (out.type(value).dtype != g.type(r.value).dtype)
      out.add_return({value, ReturnKind::result, {}});
    else
      out.add_return({value, r.kind, r.target.valid() ? map[r.target.v] : r.target});
  }
  return out;
}

}  // namespace

Result<RandomGraph> with_devices(const RandomGraph& r, Device device) {
  Moved done;
  RandomGraph out = r;
  CLEAVE_TRY(out.g, moved(r.g, device, done));
  return out;
}

}  // namespace cleave::random
