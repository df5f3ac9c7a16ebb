#include "lower/check_devices.h"

#include "ir/print.h"
#include "ir/text.h"

namespace cleave {
namespace {

Failure no_backend(const Graph& g, ValueId v, const std::string& line) {
  return unsupported(
      "@{}: %{} is {}: no backend for cuda is built in, and nothing of the graph runs on the CPU "
      "instead; take @cuda off the types to compile it for the CPU, or run it by the reference "
      "engine, which knows no devices\n  {}",
      g.name(), g.name(v), g.type(v).text(), line);
}

bool is_elsewhere(const Type& t) { return !t.is_none && t.device.kind != DeviceKind::cpu; }

Status check_graph(const Graph& g) {
  for (const Placeholder& p : g.placeholders())
    if (is_elsewhere(g.type(p.value)))
      return no_backend(
          g, p.value,
          fmt::format("%{}: {} {}", g.name(p.value), name_of(p.role), g.type(p.value).text()));
  for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n))
    for (uint32_t k = 0; k < g.node(n).output_count; ++k)
      if (const ValueId v = g.node(n).out(k); is_elsewhere(g.type(v)))
        return no_backend(g, v, print_node(g, n));
  return {};
}

}  // namespace

Status check_devices(const Graph& graph) {
  CLEAVE_CHECK(check_graph(graph));
  for (const GraphRef& sub : subgraphs_in_order(graph, {})) CLEAVE_CHECK(check_graph(*sub));
  return {};
}

}  // namespace cleave
