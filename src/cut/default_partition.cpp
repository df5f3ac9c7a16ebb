#include "cut/default_partition.h"

#include "cut/split_joint.h"
#include "ir/subgraph.h"

namespace cleave {
namespace {

bool asks_recompute(const Node& n) {
  return n.tag.policy == Recompute::must_recompute || n.tag.policy == Recompute::prefer_recompute;
}

// Whether a recomputed call of a later region reads a result of n.
bool feeds_later_region(const JointView& joint, NodeId n) {
  const Graph& g = joint.graph();
  const Node& node = g.node(n);
  for (uint32_t k = 0; k < node.output_count; ++k)
    for (const Use& use : g.uses(node.out(k))) {
      const Node& user = g.node(use.node);
      if (joint.half(use.node) == Half::forward && asks_recompute(user) &&
          user.tag.ac_graph > node.tag.ac_graph)
        return true;
    }
  return false;
}

// The nodes behind the last one that results and updates need.
std::vector<bool> behind_forward(const JointView& joint) {
  const Graph& g = joint.graph();
  std::vector<bool> behind(g.node_capacity());
  for (NodeId n = g.last_node(); n.valid() && joint.half(n) != Half::forward; n = g.prev_node(n))
    behind[n.v] = true;
  return behind;
}

}  // namespace

Result<Partition> default_partition(const Graph& joint) {
  CLEAVE_TRY(JointView view, JointView::make(joint));
  const std::vector<bool> behind = behind_forward(view);
  return split_joint(view, [&](ValueId v) -> KeepChoice {
    const NodeId n = joint.value(v).def;
    const Node& node = joint.node(n);
    if (behind[n.v]) return {Keep::recompute, ""};
    if (!asks_recompute(node)) {
      const bool asked = node.tag.policy == Recompute::must_save;
      return {Keep::save, asked ? "tagged must_save" : ""};
    }
    if (has(traits_of(node), Trait::effect)) return {Keep::save, "its call has an effect"};
    if (feeds_later_region(view, n)) return {Keep::save, "the border of a checkpointed region"};
    return {Keep::recompute, "its call is tagged for recomputation"};
  });
}

}  // namespace cleave
