#include "rewrite/node_order.h"

namespace cleave {

void NodeOrder::number() {
  at_.resize(graph_.node_capacity());
  int64_t at = 0;
  for (NodeId n = graph_.first_node(); n.valid(); n = graph_.next_node(n)) at_[n.v] = at += gap;
}

void NodeOrder::place(NodeId n) {
  if (at_.size() < graph_.node_capacity()) at_.resize(graph_.node_capacity());
  const NodeId prev = graph_.prev_node(n), next = graph_.next_node(n);
  const int64_t low = prev.valid() ? at_[prev.v] : 0;
  const int64_t high = next.valid() ? at_[next.v] : low + 2 * gap;
  if (high - low < 2) return number();
  at_[n.v] = low + (high - low) / 2;
}

}  // namespace cleave
