// Stable topological sort by depth-first search: nodes are visited in their current order, and each
// first emits those of its operands' definitions that come after it, in their current order. A
// sorted graph is unchanged. O(nodes + operands), except for sorting the late operands of one node.
#include <algorithm>

#include "ir/edit.h"

namespace cleave {
namespace {

enum class State : uint8_t { unseen, open, done };

class Sorter {
 public:
  explicit Sorter(Graph& g) : g_(g), position_(g.node_capacity()), state_(g.node_capacity()) {
    uint32_t next = 0;
    for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n)) position_[n.v] = next++;
    order_.reserve(g.node_count());
  }

  Status run() {
    for (NodeId n = g_.first_node(); n.valid(); n = g_.next_node(n))
      if (state_[n.v] == State::unseen) CLEAVE_CHECK(visit(n));
    return g_.reorder(order_);
  }

 private:
  // A node whose operands are being placed; pending_[begin, end) are those left, the next one last.
  struct Frame {
    NodeId node;
    size_t begin;
  };

  void open(NodeId n) {
    state_[n.v] = State::open;
    const size_t begin = pending_.size();
    for (ValueId v : g_.node(n).inputs)
      if (v.valid() && g_.value(v).def.valid() && state_[g_.value(v).def.v] != State::done)
        pending_.push_back(g_.value(v).def);
    std::sort(pending_.begin() + static_cast<std::ptrdiff_t>(begin), pending_.end(),
              [&](NodeId a, NodeId b) { return position_[a.v] > position_[b.v]; });
    stack_.push_back({n, begin});
  }

  Status visit(NodeId root) {
    open(root);
    while (!stack_.empty()) {
      const Frame frame = stack_.back();
      if (pending_.size() == frame.begin) {
        state_[frame.node.v] = State::done;
        order_.push_back(frame.node);
        stack_.pop_back();
        continue;
      }
      const NodeId next = pending_.back();
      pending_.pop_back();
      if (state_[next.v] == State::open) return cycle(next);
      if (state_[next.v] == State::unseen) open(next);
    }
    return {};
  }

  // The open nodes from `first` to the top of the stack, each using the next.
  Failure cycle(NodeId first) const {
    constexpr size_t shown = 8;
    auto at =
        std::find_if(stack_.begin(), stack_.end(), [&](const Frame& f) { return f.node == first; });
    std::string path;
    for (size_t i = 0; at != stack_.end() && i < shown; ++at, ++i) path += name(at->node) + " <- ";
    if (at != stack_.end()) path += "... <- ";
    return user_error("@{}: no order puts operands before their users: {}{}", g_.name(), path,
                      name(first));
  }
  std::string name(NodeId n) const { return "%" + g_.name(g_.node(n).first_output); }

  Graph& g_;
  std::vector<uint32_t> position_;
  std::vector<State> state_;
  std::vector<NodeId> order_, pending_;
  std::vector<Frame> stack_;
};

}  // namespace

Status sort_topologically(Graph& g) { return Sorter(g).run(); }

}  // namespace cleave
