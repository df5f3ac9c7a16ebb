// Tells which of two calls comes first; maintained while calls are inserted.
#pragma once
#include "ir/graph.h"

namespace cleave {

class NodeOrder {
 public:
  explicit NodeOrder(const Graph& graph) : graph_(graph) { number(); }
  bool before(NodeId a, NodeId b) const { return at_[a.v] < at_[b.v]; }
  // Records the call's new position. Halves the gap there; renumbers all calls if there is none.
  void place(NodeId n);

 private:
  static constexpr int64_t gap = int64_t{1} << 36;
  void number();

  const Graph& graph_;
  std::vector<int64_t> at_;
};

}  // namespace cleave
