#include "cut/tags.h"

namespace cleave {

bool asks_save(const Node& n) {
  return n.tag.policy == Recompute::must_save || n.tag.policy == Recompute::prefer_save;
}

bool asks_recompute(const Node& n) {
  return n.tag.policy == Recompute::must_recompute || n.tag.policy == Recompute::prefer_recompute;
}

bool feeds_later_region(const Graph& g, NodeId n, const std::function<bool(NodeId)>& is_forward) {
  const Node& node = g.node(n);
  for (uint32_t k = 0; k < node.output_count; ++k)
    for (const Use& use : g.uses(node.out(k))) {
      const Node& user = g.node(use.node);
      if (asks_recompute(user) && user.tag.ac_graph > node.tag.ac_graph && is_forward(use.node))
        return true;
    }
  return false;
}

bool feeds_later_region(const JointView& joint, NodeId n) {
  return feeds_later_region(joint.graph(), n,
                            [&](NodeId user) { return joint.half(user) == Half::forward; });
}

}  // namespace cleave
