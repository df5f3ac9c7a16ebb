#include "schedule/own_loops.h"

namespace cleave {

const loop::KernelRule* own_loops(const Graph& graph, NodeId n) {
  const Node& node = graph.node(n);
  if (!node.op->lower.present()) return nullptr;
  const auto* rule = std::get_if<loop::KernelRule>(&(*node.op->lower)->form);
  return rule && rule->streamed && rule->streamed(graph.view(n)) >= 0 ? rule : nullptr;
}

int start_of(const loop::KernelRule& rule, const OpView& op) {
  return rule.starts_as ? rule.starts_as(op) : -1;
}

}  // namespace cleave
