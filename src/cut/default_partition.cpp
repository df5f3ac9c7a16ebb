#include "cut/default_partition.h"

#include "cut/split_joint.h"
#include "cut/tags.h"
#include "ir/subgraph.h"

namespace cleave {
namespace {

// By node: whether it comes after the last node that results and updates need.
std::vector<bool> after_forward(const JointView& joint) {
  const Graph& g = joint.graph();
  std::vector<bool> after(g.node_capacity());
  for (NodeId n = g.last_node(); n.valid() && joint.half(n) != Half::forward; n = g.prev_node(n))
    after[n.v] = true;
  return after;
}

}  // namespace

Result<Partition> default_partition(const Graph& joint) {
  CLEAVE_TRY(JointView view, JointView::make(joint));
  const std::vector<bool> after = after_forward(view);
  return split_joint(view, [&](ValueId v) -> KeepChoice {
    const NodeId n = joint.value(v).def;
    const Node& node = joint.node(n);
    if (after[n.v]) return {Keep::recompute, ""};
    if (!asks_recompute(node)) {
      const bool asked = node.tag.policy == Recompute::must_save;
      return {Keep::save, asked ? "tagged must_save" : ""};
    }
    if (has(traits_of(node), Trait::effect)) return {Keep::save, "its call has an effect"};
    if (has(traits_of(node), Trait::collective)) return {Keep::save, "its call meets other ranks"};
    if (feeds_later_region(view, n)) return {Keep::save, "the border of a checkpointed region"};
    return {Keep::recompute, "its call is tagged for recomputation"};
  });
}

}  // namespace cleave
