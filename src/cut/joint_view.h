// Which half of a joint graph each node belongs to, and where the memory of a value lies.
//
// A node is of the forward when a result or an update needs it, and of the backward when only
// gradients do: a node that reads no tangent but serves gradients alone (cos(x) for sin) is of the
// backward. Nodes that nothing needs belong to neither.
#pragma once
#include <vector>

#include "ir/graph.h"

namespace cleave {

enum class Half : uint8_t { neither, forward, backward };

class JointView {
 public:
  // Errors (user): no gradient is returned, or a result or update needs a tangent.
  static Result<JointView> make(const Graph& joint);

  const Graph& graph() const { return *graph_; }
  Half half(NodeId n) const { return halves_[n.v]; }
  // A placeholder other than a tangent, or a result of a forward node.
  bool is_forward(ValueId v) const;
  // The value whose memory v uses: through views to the first operand.
  ValueId storage(ValueId v) const;
  int64_t bytes(ValueId v) const;  // at the hints; a symint is 8

 private:
  explicit JointView(const Graph& g) : graph_(&g), halves_(g.node_capacity(), Half::neither) {}

  const Graph* graph_;
  std::vector<Half> halves_;
};

}  // namespace cleave
