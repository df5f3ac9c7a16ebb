#include "lower/fuse_returned.h"

#include <algorithm>

#include "ir/builder.h"
#include "loop/lower_rule.h"

namespace cleave {
namespace {

bool is_view_call(const Node& node) {
  return node.op->lower.present() &&
         std::holds_alternative<loop::ViewRule>((*node.op->lower)->form);
}

// A view, maybe of views, of the result of an elementwise call, all of which are read once. Others
// may read the view itself, which is returned: they will read the copy.
bool is_view_of_elements(const Graph& g, ValueId v) {
  bool is_view = false;
  for (uint32_t reads = 0;; reads = 1) {
    const auto returns = std::ranges::count(g.returns(), v, &Return::value);
    const NodeId def = g.value(v).def;
    if (!def.valid() || (is_view && g.use_count(v) != 1) || returns + reads != 1) return false;
    const Node& node = g.node(def);
    if (node.output_count != 1) return false;
    if (!is_view_call(node)) {
      const auto* rule = node.op->lower.present()
                             ? loop::elementwise_rule(**node.op->lower, g.view(def))
                             : nullptr;
      return is_view && rule != nullptr && rule->in_range;
    }
    is_view = true;
    v = node.inputs[0];
  }
}

}  // namespace

Status copy_returned_views(Graph& graph, const OpRegistry& ops) {
  std::vector<Return> returns = graph.returns();
  for (Return& r : returns) {
    if (r.kind == ReturnKind::update || graph.type(r.value).strides ||
        !is_view_of_elements(graph, r.value))
      continue;
    const std::string name = graph.name(r.value);
    Builder b(graph, ops);
    const NodeId next = graph.next_node(graph.value(r.value).def);
    if (next.valid()) b.insert_before(next);
    b.set_loc(graph.node(graph.value(r.value).def).loc);
    const ValueId copy = b.call1("clone", {r.value});
    CLEAVE_CHECK(b.status());
    const NodeId made = graph.value(copy).def;
    for (const Use& u : graph.uses(r.value))
      if (u.node != made) graph.set_input(u.node, u.operand, copy);
    CLEAVE_CHECK(graph.rename(r.value, graph.fresh_name(name)));
    CLEAVE_CHECK(graph.rename(copy, name));
    r.value = copy;
  }
  graph.set_returns(std::move(returns));
  return {};
}

}  // namespace cleave
