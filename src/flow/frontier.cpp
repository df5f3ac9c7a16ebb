#include "flow/frontier.h"

#include <algorithm>
#include <numeric>

#include "flow/search_trees.h"

namespace cleave::flow {
namespace {

bool is_less(const Price& a, const Price& b) {
  return int128{a.cost} * b.bytes < int128{b.cost} * a.bytes;
}

Price lowest_terms(int64_t cost, int64_t bytes) {
  const int64_t g = std::gcd(cost, bytes);
  return {cost / g, bytes / g};
}

constexpr Price infinite_price{1, 0}, no_price{-1, 0};

// A connected set of nodes that isn't solved yet, and the arcs between them: ranges of the
// divider's arrays.
struct Subproblem {
  int32_t begin = 0, end = 0;
  size_t arcs_begin = 0, arcs_end = 0;
  Price upper;  // all its nodes are on the sink's side from this price on
};

// Nodes that change sides at one price.
struct Leaf {
  Price price;
  int32_t begin = 0, end = 0;
  int64_t cost = 0, bytes = 0;
};

// Keeps the nodes in an order in which each subproblem is a range. Demands are those of the
// subproblem's own network, in which nodes of lower prices are merged with the sink and nodes of
// higher prices with the source.
class Divider {
 public:
  explicit Divider(const TradeNetwork& network);
  Status run();
  Frontier frontier();

 private:
  struct Place {
    int32_t node = 0;
    int64_t cost = 0, demand = 0;
  };

  static size_t index(int32_t i) { return static_cast<size_t>(i); }
  std::span<const Arc> arcs(const Subproblem& s) const {
    return {arcs_.data() + s.arcs_begin, arcs_.data() + s.arcs_end};
  }
  void drop_nodes_that_never_move();
  Status solve(const Subproblem& s);
  template <class Cap>
  bool divide(SearchTrees<Cap>& trees, const Subproblem& s, Price price);
  void split(const Subproblem& s, Price price);
  int32_t find_root(int32_t local);
  int32_t number_components(const Subproblem& s);
  void regroup(const Subproblem& s, int32_t components);

  size_t node_total_;
  std::vector<Place> places_;
  std::vector<Arc> arcs_;  // their ends are indices of places_
  std::vector<Subproblem> open_;
  std::vector<Leaf> leaves_;
  SearchTrees<int64_t> trees_;
  SearchTrees<int128> wide_trees_;
  // Of the current subproblem. By place, minus its begin:
  std::vector<uint8_t> sink_side_;
  std::vector<int32_t> root_, component_, place_;
  std::vector<Place> old_places_;
  std::vector<Arc> old_arcs_;
  // By component:
  std::vector<int32_t> node_begin_, node_at_;
  std::vector<size_t> arc_begin_, arc_at_;
  std::vector<Price> component_upper_;
};

Divider::Divider(const TradeNetwork& network)
    : node_total_(network.cost.size()), places_(node_total_), arcs_(network.arcs) {
  for (size_t n = 0; n < node_total_; ++n)
    places_[n] = {static_cast<int32_t>(n), network.cost[n], network.demand[n]};
}

// At an infinite price only bytes count. Nodes that are on the source's side of a cut with the
// fewest bytes (the one nearest the sink) are there at every price: they never move.
void Divider::drop_nodes_that_never_move() {
  const Subproblem all{0, static_cast<int32_t>(node_total_), 0, arcs_.size(), no_price};
  trees_.load(all.end, arcs_, 1);
  for (int32_t n = 0; n < all.end; ++n) trees_.add_excess(n, -places_[index(n)].demand);
  trees_.sweep();
  trees_.solve();
  sink_side_.resize(node_total_);
  for (int32_t n = 0; n < all.end; ++n) sink_side_[index(n)] = trees_.reaches_deficit(n);
  split(all, infinite_price);
  std::erase_if(open_, [](const Subproblem& s) { return s.upper.cost < 0; });
}

Status Divider::run() {
  drop_nodes_that_never_move();
  while (!open_.empty()) {
    const Subproblem s = open_.back();
    open_.pop_back();
    CLEAVE_CHECK(solve(s));
  }
  return {};
}

Status Divider::solve(const Subproblem& s) {
  int64_t cost = 0, bytes = 0, sizes = 0;
  for (int32_t n = s.begin; n < s.end; ++n) {
    const Place& place = places_[index(n)];
    cost += place.cost;
    bytes += place.demand;
    sizes += place.demand < 0 ? -place.demand : place.demand;
  }
  if (bytes < 0 || (bytes == 0 && cost > 0))
    return bug("flow: a part of the frontier costs {} for {} bytes", cost, bytes);
  if (s.end - s.begin == 1 || cost == 0) {
    leaves_.push_back(
        {bytes == 0 ? s.upper : lowest_terms(cost, bytes), s.begin, s.end, cost, bytes});
    return {};
  }
  for (const Arc& a : arcs(s))
    if (a.capacity != infinite) sizes += a.capacity;
  const Price chord = lowest_terms(cost, bytes);
  auto fits = [&](Price p) {
    return int128{cost} * p.bytes + int128{sizes} * p.cost < finite_limit;
  };
  Price near = chord;
  for (; !fits(near); near = {near.cost >> 1, near.bytes >> 1}) {}
  const bool exact = near.cost == chord.cost && near.bytes == chord.bytes;
  if (near.cost > 0 && near.bytes > 0 && divide(trees_, s, near))
    split(s, near);
  else if (!exact && divide(wide_trees_, s, chord))
    split(s, chord);
  else
    leaves_.push_back({chord, s.begin, s.end, cost, bytes});
  return {};
}

// Whether the minimum cut at this price with the smallest source side has nodes on both sides.
template <class Cap>
bool Divider::divide(SearchTrees<Cap>& trees, const Subproblem& s, Price price) {
  const int32_t count = s.end - s.begin;
  trees.load(count, arcs(s), price.cost, s.begin);
  for (int32_t n = 0; n < count; ++n) {
    const Place& place = places_[index(s.begin + n)];
    trees.add_excess(n, Cap{price.bytes} * place.cost - Cap{price.cost} * place.demand);
  }
  trees.sweep();
  trees.solve();
  sink_side_.resize(index(count));
  int32_t on_sink_side = 0;
  for (int32_t n = 0; n < count; ++n)
    on_sink_side += sink_side_[index(n)] = !trees.reached_by_excess(n);
  return on_sink_side > 0 && on_sink_side < count;
}

int32_t Divider::find_root(int32_t local) {
  while (root_[index(local)] != local)
    local = root_[index(local)] = root_[index(root_[index(local)])];
  return local;
}

// Merges, for each side, the other side with the source or sink, and numbers the connected
// components of both sides.
int32_t Divider::number_components(const Subproblem& s) {
  const int32_t count = s.end - s.begin;
  root_.resize(index(count));
  std::iota(root_.begin(), root_.end(), 0);
  for (const Arc& a : arcs(s)) {
    const int32_t tail = a.tail - s.begin, head = a.head - s.begin;
    if (sink_side_[index(tail)] == sink_side_[index(head)]) {
      const int32_t x = find_root(tail), y = find_root(head);
      root_[index(std::max(x, y))] = std::min(x, y);
    } else if (sink_side_[index(head)]) {
      places_[index(a.head)].demand -= a.capacity;
      places_[index(a.tail)].demand += a.capacity;
    }
  }
  component_.resize(index(count));
  int32_t components = 0;
  for (int32_t n = 0; n < count; ++n) {
    const int32_t root = find_root(n);
    component_[index(n)] = root == n ? components++ : component_[index(root)];
  }
  return components;
}

// Moves the nodes and arcs of each component next to each other, in their old order.
void Divider::regroup(const Subproblem& s, int32_t components) {
  const int32_t count = s.end - s.begin;
  node_begin_.assign(index(components) + 1, 0);
  arc_begin_.assign(index(components) + 1, 0);
  auto is_kept = [&](const Arc& a) {
    return sink_side_[index(a.tail - s.begin)] == sink_side_[index(a.head - s.begin)];
  };
  for (int32_t n = 0; n < count; ++n) ++node_begin_[index(component_[index(n)]) + 1];
  for (const Arc& a : arcs(s))
    if (is_kept(a)) ++arc_begin_[index(component_[index(a.tail - s.begin)]) + 1];
  std::partial_sum(node_begin_.begin(), node_begin_.end(), node_begin_.begin());
  std::partial_sum(arc_begin_.begin(), arc_begin_.end(), arc_begin_.begin());

  old_places_.assign(places_.begin() + s.begin, places_.begin() + s.end);
  old_arcs_.assign(arcs(s).begin(), arcs(s).end());
  place_.resize(index(count));
  node_at_ = node_begin_;
  arc_at_ = arc_begin_;
  for (int32_t n = 0; n < count; ++n) {
    place_[index(n)] = s.begin + node_at_[index(component_[index(n)])]++;
    places_[index(place_[index(n)])] = old_places_[index(n)];
  }
  for (const Arc& a : old_arcs_) {
    if (!is_kept(a)) continue;
    const int32_t tail = a.tail - s.begin, head = a.head - s.begin;
    arcs_[s.arcs_begin + arc_at_[index(component_[index(tail)])]++] = {
        place_[index(tail)], place_[index(head)], a.capacity};
  }
}

void Divider::split(const Subproblem& s, Price price) {
  const int32_t components = number_components(s);
  component_upper_.resize(index(components));
  for (int32_t n = 0; n < s.end - s.begin; ++n)
    component_upper_[index(component_[index(n)])] = sink_side_[index(n)] ? price : s.upper;
  regroup(s, components);
  for (size_t c = 0; c < index(components); ++c)
    open_.push_back({s.begin + node_begin_[c], s.begin + node_begin_[c + 1],
                     s.arcs_begin + arc_begin_[c], s.arcs_begin + arc_begin_[c + 1],
                     component_upper_[c]});
}

// Leaves of one price are one segment of the frontier. Leaves without cost and bytes move with the
// next segment, or with the last one: between two segments either side is equally good for them.
Frontier Divider::frontier() {
  std::sort(leaves_.begin(), leaves_.end(), [](const Leaf& a, const Leaf& b) {
    if (is_less(a.price, b.price)) return true;
    if (is_less(b.price, a.price)) return false;
    return a.begin < b.begin;
  });
  Frontier f;
  f.corner.assign(node_total_, Frontier::never);
  for (auto leaf = leaves_.begin(); leaf != leaves_.end();) {
    auto end = leaf;
    Frontier::Segment segment{leaf->price, 0, 0};
    for (; end != leaves_.end() && !is_less(leaf->price, end->price); ++end) {
      segment.cost += end->cost;
      segment.bytes += end->bytes;
    }
    if (segment.cost > 0) f.segments.push_back(segment);
    const size_t passed = f.segments.size();
    const size_t corner = segment.cost > 0 ? passed : segment.bytes > 0 ? 0 : passed + 1;
    for (; leaf != end; ++leaf)
      for (int32_t n = leaf->begin; n < leaf->end; ++n)
        f.corner[index(places_[index(n)].node)] = static_cast<int32_t>(corner);
  }
  for (int32_t& corner : f.corner)
    corner = std::min(corner, static_cast<int32_t>(f.segments.size()));
  return f;
}

}  // namespace

Result<Frontier> find_frontier(const TradeNetwork& network) {
  Divider divider(network);
  CLEAVE_CHECK(divider.run());
  return divider.frontier();
}

}  // namespace cleave::flow
