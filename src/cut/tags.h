// Checkpoint tags of calls (!recompute): what they ask for, and where a tagged region ends.
#pragma once
#include <functional>

#include "cut/joint_view.h"

namespace cleave {

// Whether a call asks by its tag to be recomputed, or to be saved.
bool asks_recompute(const Node& node);
bool asks_save(const Node& node);
// Whether a call of a later checkpointed region that is tagged for recomputation, and for which
// `is_forward` holds, reads a result of n.
bool feeds_later_region(const Graph& g, NodeId n, const std::function<bool(NodeId)>& is_forward);
// The same for calls of the joint graph's forward half.
bool feeds_later_region(const JointView& joint, NodeId n);

}  // namespace cleave
