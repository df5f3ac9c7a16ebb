#include "test/sample/device_graph.h"

#include <map>

#include "ir/builder.h"
#include "test/random_inputs.h"

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

// Statistics of a half tensor are f32 on cuda; what reads them was made for the half.
Result<ValueId> converted(Graph& out, ValueId v, const Type& wanted) {
  if (wanted.is_none || out.type(v).dtype == wanted.dtype) return v;
  Builder b(out, test::core());
  b.name_next({out.name(v) + ".half"});
  const ValueId made = b.convert(v, wanted.dtype);
  CLEAVE_CHECK(b.status());
  return made;
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
      CLEAVE_TRY(map[node.out(k).v], converted(out, out.node(made).out(k), g.type(node.out(k))));
      if (const auto& strides = g.type(node.out(k)).strides)
        out.set_strides(map[node.out(k).v], strides);
    }
  }
  for (const Return& r : g.returns())
    out.add_return({map[r.value.v], r.kind, r.target.valid() ? map[r.target.v] : r.target});
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
