// The solver for all cuts: two search trees in a residual network, one growing from the nodes with
// excess, one from the nodes with deficit; where they meet, flow is pushed from root to root.
//
//     excess > 0  (S)──►(S)──►(S) ═══► (T)──►(T)──►(T)  excess < 0
//                  tree from sources    tree to sinks
//
//   excess     source capacity - sink capacity of a node + the net flow into it. A minimum cut
//              depends on this difference alone, so the flow needn't be feasible (a pseudoflow);
//              settle_flow makes it feasible
//   sweep      before the search, two passes over the nodes in their order push flow along arcs to
//              higher nodes. If nodes are numbered in the direction of the arcs, that is most of
//              the flow, and a long chain costs two passes instead of a path for each node
//   end        no path leads from excess to deficit: the S tree is all that excess reaches (the
//              smallest source side), the T tree all from which a deficit is reached
//
// Cap is int64_t or int128. Finite capacities sum to less than unlimited / 4, and so does the flow
// through any arc: an infinite arc, with the residual `unlimited`, is never filled, and no sum
// overflows. Time: O(augmenting paths x arcs) at worst; on partition networks nearly linear.
//
// Sources: Boykov, Kolmogorov, "An experimental comparison of min-cut/max-flow algorithms for
// energy minimization in vision" (2004), section 3, with their stamped distances; pseudoflows:
// Hochbaum, "The pseudoflow algorithm" (2008); the sweep is one wave of Tarjan, "A simple version
// of Karzanov's blocking flow algorithm" (1984), over the whole network.
#pragma once
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "flow/network.h"

namespace cleave::flow {

__extension__ typedef __int128 int128;

template <class Cap>
class SearchTrees {
 public:
  static constexpr Cap unlimited = Cap{1} << (8 * sizeof(Cap) - 2);

  // Loads a network without flow or excess. Finite capacities are multiplied by `scale`; `base` is
  // subtracted from the ends of arcs. Memory is reused from one network to the next.
  void load(int32_t nodes, std::span<const Arc> arcs, Cap scale, int32_t base = 0);

  void add_excess(int32_t n, Cap x) { nodes_[as_index(n)].excess += x; }
  Cap excess(int32_t n) const { return nodes_[as_index(n)].excess; }
  // How much more flow arc a can take, and its flow.
  Cap residual(size_t a) const { return arcs_[as_index(position_[a])].residual; }
  Cap pushed(size_t a) const { return arcs_[as_index(reverse(position_[a]))].residual; }
  void set_residual(size_t a, Cap residual, Cap pushed);

  void sweep();
  // Grows new trees until no path is left from excess to deficit. False if that needs more than
  // `max_scanned` arcs to be scanned.
  bool solve(int64_t max_scanned = std::numeric_limits<int64_t>::max());

  bool reached_by_excess(int32_t n) const { return nodes_[as_index(n)].tree == Tree::source; }
  bool reaches_deficit(int32_t n) const { return nodes_[as_index(n)].tree == Tree::sink; }
  // Of the last solve:
  int64_t paths() const { return paths_; }
  int64_t scanned_arcs() const { return scanned_; }

 private:
  enum class Tree : uint8_t { none, source, sink };
  static constexpr int32_t at_root = -1, orphan = -2, none = -3;

  struct Node {
    Cap excess = 0;
    int32_t first = 0;      // its residual arcs are [first, first of the next node)
    int32_t parent = none;  // residual arc to the parent
    int32_t stamp = 0;      // time at which depth was last valid
    int32_t depth = 0;      // nodes from here to the root, both counted
    Tree tree = Tree::none;
    bool queued = false;
  };
  struct ResidualArc {
    int32_t head, reverse;  // reverse: the same arc seen from the head
    Cap residual;
  };

  static size_t as_index(int32_t i) { return static_cast<size_t>(i); }
  Node& node(int32_t n) { return nodes_[as_index(n)]; }
  ResidualArc& arc_at(int32_t a) { return arcs_[as_index(a)]; }
  int32_t reverse(int32_t a) const { return arcs_[as_index(a)].reverse; }
  int32_t end(int32_t n) const { return nodes_[as_index(n) + 1].first; }
  // The end of n's residual arcs, which are counted as scanned.
  int32_t scan_end(int32_t n) {
    scanned_ += end(n) - node(n).first;
    return end(n);
  }

  // The residual toward the sink of arc a, which leads from a node of tree `side` to its parent.
  template <Tree side>
  Cap toward_sink(int32_t a) {
    return side == Tree::source ? arc_at(arc_at(a).reverse).residual : arc_at(a).residual;
  }
  void enqueue(int32_t n);
  int32_t grow(int32_t n);
  template <Tree side>
  int32_t grow_tree(int32_t n);
  void augment(int32_t bridge);
  template <Tree side>
  void bottleneck(int32_t n, Cap& least);
  template <Tree side>
  void push_along(int32_t n, Cap amount);
  template <Tree side>
  void adopt(int32_t n);
  template <Tree side>
  void abandon(int32_t n);
  int32_t depth_of(int32_t n);

  std::vector<Node> nodes_;  // and one after the last
  std::unique_ptr<ResidualArc[]> arcs_;
  size_t arcs_capacity_ = 0;
  std::vector<int32_t> position_;  // by arc: its forward residual arc
  std::vector<Cap> want_;
  std::vector<int32_t> active_,
      active_next_;  // queues: one is read, one is filled
  std::vector<int32_t> orphans_;
  int32_t time_ = 0;
  int64_t paths_ = 0, scanned_ = 0;
};

extern template class SearchTrees<int64_t>;
extern template class SearchTrees<int128>;

}  // namespace cleave::flow
