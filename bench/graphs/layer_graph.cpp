#include "bench/graphs/layer_graph.h"

#include "ir/builder.h"

namespace cleave::bench {
namespace {

struct Caller {
  Graph& g;
  const OpRegistry& ops;
  ValueId operator()(const char* op, std::vector<ValueId> inputs, Attrs attrs = {}) const {
    NodeSpec spec;
    spec.op = ops.find(op);
    spec.inputs = std::move(inputs);
    spec.attrs = std::move(attrs);
    return g.node(value_or_throw(g.add_node(std::move(spec)))).out(0);
  }
};

Attrs attrs_of(const OpDef& op, std::vector<std::pair<const char*, AttrValue>> values) {
  Attrs attrs;
  for (auto& [name, value] : values)
    attrs.set(static_cast<uint16_t>(op.schema.find(name)), std::move(value));
  return attrs;
}

}  // namespace

Graph layer_graph(const OpRegistry& ops, int64_t nodes) {
  Graph g("main");
  const Type type(DType::f32, {64, 64});
  const ValueId w = value_or_throw(g.add_placeholder(Role::param, "w", type));
  const ValueId b = value_or_throw(g.add_placeholder(Role::param, "b", type));
  ValueId x = value_or_throw(g.add_placeholder(Role::input, "x", type));
  const Caller call{g, ops};
  const Attrs swap = attrs_of(*ops.find("permute"), {{"dims", std::vector<int64_t>{1, 0}}});
  const Attrs rows =
      attrs_of(*ops.find("mean"), {{"dim", std::vector<int64_t>{1}}, {"keepdim", true}});
  while (static_cast<int64_t>(g.node_count()) < nodes) {
    const ValueId h = call("mm", {x, call("permute", {w}, swap)});
    const ValueId a = call("add", {h, b});
    const ValueId d = call("sub", {a, call("mean", {a}, rows)});
    const ValueId g_ = call("tanh", {d});
    x = call("mul", {g_, call("add", {h, b})});
    call("exp", {g_});
  }
  g.add_return({x, ReturnKind::result, {}});
  return g;
}

Graph foldable_graph(const OpRegistry& ops, int64_t nodes) {
  Graph g("main");
  const Type type(DType::f32, {64, 64});
  const ValueId w = value_or_throw(g.add_placeholder(Role::param, "w", type));
  ValueId x = value_or_throw(g.add_placeholder(Role::input, "x", type));
  Builder b(g, ops);
  while (static_cast<int64_t>(g.node_count()) < nodes) {
    const ValueId turned = b.permute(b.permute(w, {1, 0}), {1, 0});
    const ValueId v = b.view(b.view(b.mm(x, turned), {4096}), {64, 64});
    const ValueId p = b.mul(b.add(v, 0.0), 1.0);
    x = b.call1("tanh", {b.add(b.mm(p, w), b.mm(v, w))});
  }
  g.add_return({x, ReturnKind::result, {}});
  return g;
}

}  // namespace cleave::bench
