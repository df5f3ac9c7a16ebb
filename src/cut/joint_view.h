// Which half of a joint graph each node belongs to, and where the memory of a value lies.
//
//   forward    a result, an update, or a call with an effect that reads no tangent needs it
//   backward   it reads a tangent, directly or not
//   either     gradients alone need it, and it reads no tangent: cos(x) for sin. A partition may
//              compute it in the forward and save it, or in the backward
//   neither    nothing needs it
#pragma once
#include <vector>

#include "ir/graph.h"

namespace cleave {

enum class Half : uint8_t { neither, forward, backward, either };

// The value whose memory v uses: through views to the first operand.
ValueId storage_of(const Graph& g, ValueId v);
// At the hints; a symint is 8.
int64_t hint_bytes_of(const Graph& g, ValueId v);

// Which calls (by node) stand no later than the last that the first `results` entries of `return`
// that are results need; 0: all of them.
std::vector<bool> forward_calls(const Graph& g, size_t results);

class JointView {
 public:
  // A graph that returns no gradient is all forward. Errors (user): a result or update needs a
  // tangent.
  static Result<JointView> make(const Graph& joint);
  // A training step, or any program: its forward is forward_calls(g, results), all that is needed
  // after it is the backward.
  static Result<JointView> of_program(const Graph& g, size_t results);

  const Graph& graph() const { return *graph_; }
  Half half(NodeId n) const { return halves_[n.v]; }
  // Whether the forward can give v: it depends on no tangent.
  bool forward_can_compute(ValueId v) const;
  ValueId storage(ValueId v) const { return storage_of(*graph_, v); }
  int64_t bytes(ValueId v) const { return hint_bytes_of(*graph_, v); }

 private:
  explicit JointView(const Graph& g) : graph_(&g), halves_(g.node_capacity(), Half::neither) {}

  const Graph* graph_;
  std::vector<Half> halves_;
};

}  // namespace cleave
