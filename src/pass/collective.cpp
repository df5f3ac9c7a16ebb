#include "pass/collective.h"

namespace cleave {

NodeId only_wait(const Graph& g, NodeId collective, const std::vector<bool>& is_returned) {
  const Node& node = g.node(collective);
  if (node.output_count != 1 || is_returned[node.out(0).v] || g.use_count(node.out(0)) != 1)
    return {};
  const NodeId reader = g.uses(node.out(0))[0].node;
  if (g.node(reader).op->name != "wait_tensor" || g.node(reader).tag != node.tag) return {};
  return reader;
}

}  // namespace cleave
