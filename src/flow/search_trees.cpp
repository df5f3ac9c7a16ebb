#include "flow/search_trees.h"

#include <algorithm>

namespace cleave::flow {

template <class Cap>
void SearchTrees<Cap>::load(int32_t nodes, std::span<const Arc> arcs, Cap scale, int32_t base) {
  nodes_.assign(as_index(nodes) + 1, Node{});
  for (const Arc& a : arcs) {
    ++node(a.tail - base).first;
    ++node(a.head - base).first;
  }
  int32_t at = 0;
  for (Node& n : nodes_) n.first = at += n.first;
  if (arcs_capacity_ < 2 * arcs.size()) {
    arcs_capacity_ = 2 * arcs.size();
    arcs_ = std::make_unique_for_overwrite<ResidualArc[]>(arcs_capacity_);
  }
  position_.resize(arcs.size());
  for (size_t k = arcs.size(); k-- > 0;) {
    const Arc& a = arcs[k];
    const int32_t tail = a.tail - base, head = a.head - base;
    const int32_t out = --node(tail).first, in = --node(head).first;
    arc_at(out) = {head, in, a.capacity == infinite ? unlimited : a.capacity * scale};
    arc_at(in) = {tail, out, 0};
    position_[k] = out;
  }
}

template <class Cap>
void SearchTrees<Cap>::set_residual(size_t a, Cap residual, Cap pushed) {
  arc_at(position_[a]).residual = residual;
  arc_at(reverse(position_[a])).residual = pushed;
}

// want[n]: how much flow from lower nodes n can use or pass on to higher nodes. A head that several
// nodes push to is counted by each of them, so some excess may remain at nodes on the way.
template <class Cap>
void SearchTrees<Cap>::sweep() {
  const auto count = static_cast<int32_t>(nodes_.size()) - 1;
  constexpr Cap limit = unlimited / 4;
  want_.resize(as_index(count));
  for (int32_t n = count; n-- > 0;) {
    Cap passed_on = 0;
    for (int32_t a = node(n).first; a < end(n); ++a)
      if (const ResidualArc& arc = arc_at(a); arc.head > n && arc.residual > 0)
        passed_on = std::min(limit, passed_on + std::min(arc.residual, want_[as_index(arc.head)]));
    want_[as_index(n)] = std::clamp(passed_on - excess(n), Cap{0}, limit);
  }
  for (int32_t n = 0; n < count; ++n) {
    for (int32_t a = node(n).first; a < end(n) && excess(n) > 0; ++a) {
      ResidualArc& arc = arc_at(a);
      if (arc.head <= n) continue;
      Cap& want = want_[as_index(arc.head)];
      const Cap amount = std::min({excess(n), arc.residual, want});
      if (amount <= 0) continue;
      want -= amount;
      arc.residual -= amount;
      arc_at(arc.reverse).residual += amount;
      node(n).excess -= amount;
      node(arc.head).excess += amount;
    }
  }
}

template <class Cap>
void SearchTrees<Cap>::enqueue(int32_t n) {
  if (node(n).queued) return;
  node(n).queued = true;
  active_next_.push_back(n);
}

template <class Cap>
bool SearchTrees<Cap>::solve(int64_t max_scanned) {
  const auto count = static_cast<int32_t>(nodes_.size()) - 1;
  time_ = 0;
  paths_ = scanned_ = 0;
  active_next_.clear();
  for (int32_t n = 0; n < count; ++n) {
    Node& v = node(n);
    v.tree = v.excess > 0 ? Tree::source : v.excess < 0 ? Tree::sink : Tree::none;
    v.parent = v.tree == Tree::none ? none : at_root;
    v.stamp = 0;
    v.depth = 1;
    v.queued = false;
    if (v.tree != Tree::none) enqueue(n);
  }
  while (!active_next_.empty()) {
    active_.swap(active_next_);
    active_next_.clear();
    for (int32_t n : active_) {
      node(n).queued = false;
      for (int32_t bridge; (bridge = grow(n)) >= 0;) {
        ++time_;
        ++paths_;
        augment(bridge);
        if (scanned_ > max_scanned) return false;
      }
      if (scanned_ > max_scanned) return false;
    }
  }
  return true;
}

// Adds free nodes next to n to its tree. Returns an arc from the S tree into the T tree if the
// trees meet at n; `none` if they don't.
template <class Cap>
int32_t SearchTrees<Cap>::grow(int32_t n) {
  if (node(n).parent == none) return none;
  return node(n).tree == Tree::source ? grow_tree<Tree::source>(n) : grow_tree<Tree::sink>(n);
}

template <class Cap>
template <typename SearchTrees<Cap>::Tree side>
int32_t SearchTrees<Cap>::grow_tree(int32_t n) {
  const Node& from = node(n);
  for (int32_t a = from.first, last = scan_end(n); a < last; ++a) {
    const ResidualArc& arc = arc_at(a);
    if ((side == Tree::source ? arc.residual : arc_at(arc.reverse).residual) == 0) continue;
    Node& to = node(arc.head);
    if (to.parent == none) {
      to.tree = side;
      to.parent = arc.reverse;
      to.stamp = from.stamp;
      to.depth = from.depth + 1;
      enqueue(arc.head);
    } else if (to.tree != side) {
      return side == Tree::source ? a : arc.reverse;
    } else if (to.stamp <= from.stamp && to.depth > from.depth) {
      to.parent = arc.reverse;  // nearer to the root
      to.stamp = from.stamp;
      to.depth = from.depth + 1;
    }
  }
  return none;
}

// Lowers `least` to the flow that the tree path between n and its root can carry.
template <class Cap>
template <typename SearchTrees<Cap>::Tree side>
void SearchTrees<Cap>::bottleneck(int32_t n, Cap& least) {
  for (int32_t up; (up = node(n).parent) != at_root; n = arc_at(up).head)
    least = std::min(least, toward_sink<side>(up));
  least = std::min(least, side == Tree::source ? excess(n) : -excess(n));
}

template <class Cap>
template <typename SearchTrees<Cap>::Tree side>
void SearchTrees<Cap>::push_along(int32_t n, Cap amount) {
  for (int32_t up; (up = node(n).parent) != at_root;) {
    ResidualArc& to_sink = side == Tree::source ? arc_at(arc_at(up).reverse) : arc_at(up);
    to_sink.residual -= amount;
    arc_at(to_sink.reverse).residual += amount;
    if (to_sink.residual == 0) {
      node(n).parent = orphan;
      orphans_.push_back(n);
    }
    n = arc_at(up).head;
  }
  Node& root = node(n);
  root.excess += side == Tree::source ? -amount : amount;
  if (root.excess == 0) {
    root.parent = orphan;
    orphans_.push_back(n);
  }
}

template <class Cap>
void SearchTrees<Cap>::augment(int32_t bridge) {
  const int32_t tail = arc_at(arc_at(bridge).reverse).head, head = arc_at(bridge).head;
  Cap amount = arc_at(bridge).residual;
  bottleneck<Tree::source>(tail, amount);
  bottleneck<Tree::sink>(head, amount);
  arc_at(bridge).residual -= amount;
  arc_at(arc_at(bridge).reverse).residual += amount;
  push_along<Tree::source>(tail, amount);
  push_along<Tree::sink>(head, amount);
  for (size_t k = 0; k < orphans_.size(); ++k) {
    const int32_t n = orphans_[k];
    if (node(n).tree == Tree::source)
      adopt<Tree::source>(n);
    else
      adopt<Tree::sink>(n);
  }
  orphans_.clear();
}

// The number of nodes from n to its root, or `none` if the path ends at an orphan. The nodes on the
// path are stamped with the current time, so that no path is walked twice in one augmentation.
template <class Cap>
int32_t SearchTrees<Cap>::depth_of(int32_t n) {
  int32_t steps = 0, at = n;
  for (; node(at).stamp != time_; at = arc_at(node(at).parent).head) {
    if (node(at).parent == orphan) return none;
    ++steps;
    ++scanned_;
    if (node(at).parent == at_root) {
      node(at).stamp = time_;
      node(at).depth = 1;
      --steps;
      break;
    }
  }
  const int32_t depth = node(at).depth + steps;
  for (int32_t d = depth; node(n).stamp != time_; n = arc_at(node(n).parent).head) {
    node(n).stamp = time_;
    node(n).depth = d--;
  }
  return depth;
}

// Gives orphan n a new parent in its own tree, the one nearest to a root. If there is none, n
// becomes free and its children become orphans.
template <class Cap>
template <typename SearchTrees<Cap>::Tree side>
void SearchTrees<Cap>::adopt(int32_t n) {
  int32_t best = none, least = std::numeric_limits<int32_t>::max();
  for (int32_t a = node(n).first, last = scan_end(n); a < last; ++a) {
    const int32_t m = arc_at(a).head;
    if (node(m).tree != side || node(m).parent == none || toward_sink<side>(a) == 0) continue;
    const int32_t depth = depth_of(m);
    if (depth == none || depth >= least) continue;
    least = depth;
    best = a;
  }
  if (best == none) return abandon<side>(n);
  node(n).parent = best;
  node(n).stamp = time_;
  node(n).depth = least + 1;
}

template <class Cap>
template <typename SearchTrees<Cap>::Tree side>
void SearchTrees<Cap>::abandon(int32_t n) {
  for (int32_t a = node(n).first, last = scan_end(n); a < last; ++a) {
    const int32_t m = arc_at(a).head;
    if (node(m).tree != side || node(m).parent == none) continue;
    if (toward_sink<side>(a) != 0) enqueue(m);
    if (node(m).parent >= 0 && arc_at(node(m).parent).head == n) {
      node(m).parent = orphan;
      orphans_.push_back(m);
    }
  }
  node(n).tree = Tree::none;
  node(n).parent = none;
}

template class SearchTrees<int64_t>;
template class SearchTrees<int128>;

}  // namespace cleave::flow
