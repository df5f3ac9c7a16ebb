// Which half of a joint graph each node belongs to, and where the memory of a value lies.
//
//   forward    a result, an update, or a call with an effect that reads no tangent needs it
//   backward   it reads a tangent, directly or indirectly
//   either     only gradients need it, and it reads no tangent: cos(x), of which the gradient of
//              sin(x) is made. A partition may compute it in the forward and save it, or in the
//              backward
//   neither    nothing needs it
#pragma once
#include <vector>

#include "ir/graph.h"

namespace cleave {

enum class Half : uint8_t { neither, forward, backward, either };

// The value whose memory v uses: v itself, or the base of a chain of views.
ValueId storage_of(const Graph& g, ValueId v);
// Bytes of v with symbolic sizes at their hints; 8 for a symint.
int64_t hint_bytes_of(const Graph& g, ValueId v);

// By node: whether it is at or before the last call that the first `results` results of `return`
// depend on; `results` = 0 means all results.
std::vector<bool> forward_calls(const Graph& g, size_t results);

class JointView {
 public:
  // In a graph that returns no gradient all nodes are forward. Errors (user): a result or update
  // needs a tangent.
  static Result<JointView> make(const Graph& joint);
  // A training step, or any other program: its forward is forward_calls(g, results), and all needed
  // calls after it are its backward.
  static Result<JointView> of_program(const Graph& g, size_t results);

  const Graph& graph() const { return *graph_; }
  Half half(NodeId n) const { return halves_[n.v]; }
  // Whether v is a placeholder that is no tangent, or the result of a call outside the backward.
  bool forward_can_compute(ValueId v) const;
  ValueId storage(ValueId v) const { return storage_of(*graph_, v); }
  int64_t bytes(ValueId v) const { return hint_bytes_of(*graph_, v); }

 private:
  explicit JointView(const Graph& g) : graph_(&g), halves_(g.node_capacity(), Half::neither) {}

  const Graph* graph_;
  std::vector<Half> halves_;
};

}  // namespace cleave
