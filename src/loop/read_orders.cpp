#include "loop/read_orders.h"

#include "loop/lower_rule.h"

namespace cleave {
namespace {

int64_t numel(const Graph& g, ValueId v) { return numel_of(static_shape(g.type(v))); }

}  // namespace

std::optional<Reorder> order_of_view(const Graph& g, NodeId n) {
  const OpView op = g.view(n);
  const Layout in = Layout::contiguous(static_shape(op.in_type(0)));
  const auto& rule = std::get<loop::ViewRule>((*op.def().lower)->form);
  const std::optional<Layout> out = rule.layout(op, in, 0);
  return g.node(n).output_count == 1 && out ? Reorder::of(*out, in.numel()) : std::nullopt;
}

ReadOrders read_orders(const Graph& g, NodeId n,
                       const std::function<ReadOrders(ValueId)>& of_operand) {
  const Node& node = g.node(n);
  ReadOrders out;
  if (std::holds_alternative<loop::ViewRule>((*node.op->lower)->form)) {
    const std::optional<Reorder> order = order_of_view(g, n);
    if (!order) return out;
    for (const auto& [v, read] : of_operand(node.inputs[0]))
      if (const std::optional<Reorder> all = order->then(read)) out.emplace(v, *all);
    return out;
  }
  if (has(node.op->traits, Trait::data_dependent)) return out;
  for (const ValueId v : node.inputs) {
    if (!v.valid() || numel(g, v) != numel(g, node.out(0))) continue;
    for (const auto& [u, read] : of_operand(v))
      if (const auto [it, fresh] = out.emplace(u, read); !fresh && read.is_same())
        it->second = read;
  }
  return out;
}

}  // namespace cleave
