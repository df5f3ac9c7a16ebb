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

std::optional<std::string> of_device(const Graph& g, ValueId v, Device device) {
  if (!v.valid()) return std::nullopt;
  const Type& t = g.type(v);
  if (t.is_none || t.device == device || (t.device.is_cpu() && t.rank() == 0)) return std::nullopt;
  return fmt::format("%{} is {}, which this backend can't compute", g.name(v), g.type(v).text());
}

std::optional<std::string> of_call(const Graph& g, NodeId n, Device device) {
  const Node& node = g.node(n);
  if (auto why = of_operator(*node.op)) return why;
  for (const ValueId v : node.inputs)
    if (auto why = of_device(g, v, device)) return why;
  for (uint32_t k = 0; k < node.output_count; ++k)
    if (auto why = of_device(g, node.out(k), device)) return why;
  return std::nullopt;
}

// Each graph is looked at once, however often it is referred to.
std::optional<std::string> of_graphs(const Graph& g, NodeId n, Device device) {
  for (const auto& [arg, value] : g.node(n).attrs.given()) {
    const GraphRef* sub = value.get<GraphRef>();
    if (sub == nullptr || !*sub) continue;
    std::vector<GraphRef> graphs = subgraphs_in_order(**sub, {});
    graphs.push_back(*sub);
    for (const GraphRef& inner : graphs)
      for (NodeId m = inner->first_node(); m.valid(); m = inner->next_node(m))
        if (auto why = of_call(*inner, m, device))
          return fmt::format("%{} in @{}: {}", inner->name(inner->node(m).out(0)), inner->name(),
                             *why);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> reason_outside(const Graph& g, NodeId n, Device device) {
  if (auto why = of_call(g, n, device)) return why;
  return of_graphs(g, n, device);
}

}  // namespace cleave
