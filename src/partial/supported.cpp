#include "partial/supported.h"

#include "ir/subgraph.h"
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

}  // namespace

std::optional<std::string> reason_outside(const Graph& g, NodeId n) {
  const Node& node = g.node(n);
  if (auto why = of_operator(*node.op)) return why;
  for (const ValueId v : node.inputs)
    if (auto why = of_device(g, v)) return why;
  for (uint32_t k = 0; k < node.output_count; ++k)
    if (auto why = of_device(g, node.out(k))) return why;
  for (const auto& [arg, value] : node.attrs.given()) {
    const GraphRef* sub = value.get<GraphRef>();
    if (sub == nullptr || !*sub) continue;
    for (NodeId inner = (*sub)->first_node(); inner.valid(); inner = (*sub)->next_node(inner))
      if (auto why = reason_outside(**sub, inner))
        return fmt::format("%{} in @{}: {}", (*sub)->name((*sub)->node(inner).out(0)),
                           (*sub)->name(), *why);
  }
  return std::nullopt;
}

}  // namespace cleave
