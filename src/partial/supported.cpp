#include "partial/supported.h"

#include "cleave/partial.h"
#include "compilers/traced_graph.h"
#include "ir/print.h"
#include "loop/lower_rule.h"

namespace cleave {
namespace {

std::optional<std::string> of_operator(const OpDef& op) {
  const std::string file = op.file.empty() ? "" : " (" + op.file + ")";
  if (!op.lower.present()) return "no kernel: " + op.lower.reason() + file;
  return std::nullopt;
}

std::optional<std::string> of_dtype(const Graph& g, ValueId v) {
  if (!v.valid() || g.type(v).is_none || g.type(v).dtype != DType::c64) return std::nullopt;
  return fmt::format("%{}: complex numbers have no kernels", g.name(v));
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
  std::vector<ValueId> values = node.inputs;
  for (uint32_t k = 0; k < node.output_count; ++k) values.push_back(node.out(k));
  for (const ValueId v : values) {
    if (auto why = of_dtype(g, v)) return why;
    if (auto why = of_device(g, v, device)) return why;
  }
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

std::vector<OutsideCall> uncovered_calls(const TracedGraph& graph, Device device) {
  const Graph& g = graph.state().graph;
  std::vector<OutsideCall> out;
  for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n))
    if (auto why = reason_outside(g, n, device))
      out.push_back(
          {.name = g.name(g.node(n).out(0)), .op = g.node(n).op->name, .reason = *std::move(why)});
  return out;
}

}  // namespace cleave
