#include "partial/supported.h"

#include "ir/print.h"
#include "loop/lower_rule.h"

namespace cleave {
namespace {

std::optional<std::string> of_operator(const OpDef& op) {
  const std::string file = op.file.empty() ? "" : " (" + op.file + ")";
  if (!op.lower.present()) return "no kernel: " + op.lower.reason() + file;
  return std::nullopt;
}

std::optional<std::string> of_device(const Graph& g, ValueId v) {
  if (!v.valid() || g.type(v).is_none || g.type(v).device == Device()) return std::nullopt;
  return fmt::format("%{} is {}, which this backend can't compute", g.name(v), g.type(v).text());
}

std::optional<std::string> of_call(const Graph& g, NodeId n) {
  const Node& node = g.node(n);
  if (auto why = of_operator(*node.op)) return why;
  for (const ValueId v : node.inputs)
    if (auto why = of_device(g, v)) return why;
  for (uint32_t k = 0; k < node.output_count; ++k)
    if (auto why = of_device(g, node.out(k))) return why;
  return std::nullopt;
}

// Each graph is looked at once, however often it is referred to.
std::optional<std::string> of_graphs(const Graph& g, NodeId n) {
  for (const auto& [arg, value] : g.node(n).attrs.given()) {
    const GraphRef* sub = value.get<GraphRef>();
    if (sub == nullptr || !*sub) continue;
    std::vector<GraphRef> graphs = subgraphs_in_order(**sub, {});
    graphs.push_back(*sub);
    for (const GraphRef& inner : graphs)
      for (NodeId m = inner->first_node(); m.valid(); m = inner->next_node(m))
        if (auto why = of_call(*inner, m))
          return fmt::format("%{} in @{}: {}", inner->name(inner->node(m).out(0)), inner->name(),
                             *why);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> reason_outside(const Graph& g, NodeId n) {
  if (auto why = of_call(g, n)) return why;
  return of_graphs(g, n);
}

}  // namespace cleave
