#include "test/flow/dinic.h"

#include <algorithm>

namespace cleave::flow {
namespace {

constexpr size_t no_edge = ~size_t{0};
constexpr Capacity unbounded = finite_limit * 4;

}  // namespace

Result<Dinic> Dinic::make(Network network) {
  CLEAVE_CHECK(check_network(network));
  return Dinic(std::move(network));
}

Status Dinic::set_source(int32_t n, Capacity capacity) {
  network_.source[static_cast<size_t>(n)] = capacity;
  return check_network(network_);
}

Status Dinic::set_sink(int32_t n, Capacity capacity) {
  network_.sink[static_cast<size_t>(n)] = capacity;
  return check_network(network_);
}

Status Dinic::set_arc(int32_t a, Capacity capacity) {
  network_.arcs[static_cast<size_t>(a)].capacity = capacity;
  return check_network(network_);
}

void Dinic::add_edge(size_t tail, size_t head, Capacity capacity) {
  edges_.push_back({head, first_[tail], capacity == infinite ? unbounded : capacity});
  first_[tail] = edges_.size() - 1;
  edges_.push_back({tail, first_[head], 0});
  first_[head] = edges_.size() - 1;
}

// In the order source arcs, sink arcs, arcs.
void Dinic::build() {
  const size_t nodes = network_.source.size();
  edges_.clear();
  first_.assign(nodes + 2, no_edge);
  for (size_t n = 0; n < nodes; ++n) add_edge(nodes, n, network_.source[n]);
  for (size_t n = 0; n < nodes; ++n) add_edge(n, nodes + 1, network_.sink[n]);
  for (const Arc& a : network_.arcs)
    add_edge(static_cast<size_t>(a.tail), static_cast<size_t>(a.head), a.capacity);
}

bool Dinic::find_levels() {
  const size_t source = network_.source.size(), sink = source + 1;
  level_.assign(first_.size(), -1);
  level_[source] = 0;
  std::vector<size_t> queue = {source};
  for (size_t k = 0; k < queue.size(); ++k)
    for (size_t e = first_[queue[k]]; e != no_edge; e = edges_[e].next)
      if (edges_[e].left > 0 && level_[edges_[e].head] < 0) {
        level_[edges_[e].head] = level_[queue[k]] + 1;
        queue.push_back(edges_[e].head);
      }
  return level_[sink] >= 0;
}

// Pushes flow along a path of rising levels from source to sink; at[n] is the first edge of n that
// may still be used. Returns its flow, 0 if there is no path.
Capacity Dinic::push_path(std::vector<size_t>& at) {
  const size_t source = network_.source.size(), sink = source + 1;
  std::vector<size_t> path;
  size_t n = source;
  while (n != sink) {
    while (at[n] != no_edge &&
           (edges_[at[n]].left == 0 || level_[edges_[at[n]].head] != level_[n] + 1))
      at[n] = edges_[at[n]].next;
    if (at[n] != no_edge) {
      path.push_back(at[n]);
      n = edges_[at[n]].head;
    } else if (path.empty()) {
      return 0;
    } else {
      n = edges_[path.back() ^ 1].head;
      path.pop_back();
      at[n] = edges_[at[n]].next;
    }
  }
  Capacity amount = finite_limit;
  for (size_t e : path) amount = std::min(amount, edges_[e].left);
  for (size_t e : path) {
    edges_[e].left -= amount;
    edges_[e ^ 1].left += amount;
  }
  return amount;
}

Status Dinic::solve() {
  build();
  flow_ = {};
  while (find_levels()) {
    std::vector<size_t> at = first_;
    while (const Capacity amount = push_path(at)) {
      flow_.value += amount;
      if (flow_.value >= finite_limit)
        return user_error("flow: a path of infinite arcs leads from source to sink");
    }
  }
  const size_t nodes = network_.source.size();
  auto carried = [&](size_t k) { return edges_[2 * k + 1].left; };
  for (size_t n = 0; n < nodes; ++n) flow_.source.push_back(carried(n));
  for (size_t n = 0; n < nodes; ++n) flow_.sink.push_back(carried(nodes + n));
  for (size_t a = 0; a < network_.arcs.size(); ++a) flow_.arc.push_back(carried(2 * nodes + a));
  return {};
}

// The nodes that are reached from `start` by residual paths or, with `against`, that reach it.
std::vector<uint8_t> Dinic::seen_from(size_t start, bool against) const {
  std::vector<uint8_t> seen(first_.size());
  seen[start] = 1;
  std::vector<size_t> queue = {start};
  for (size_t k = 0; k < queue.size(); ++k)
    for (size_t e = first_[queue[k]]; e != no_edge; e = edges_[e].next)
      if (edges_[against ? e ^ 1 : e].left > 0 && !seen[edges_[e].head]) {
        seen[edges_[e].head] = 1;
        queue.push_back(edges_[e].head);
      }
  seen.resize(network_.source.size());
  return seen;
}

std::vector<uint8_t> Dinic::source_side(Nearest nearest) const {
  const size_t source = network_.source.size();
  if (nearest == Nearest::source) return seen_from(source, false);
  std::vector<uint8_t> side = seen_from(source + 1, true);
  for (uint8_t& s : side) s = !s;
  return side;
}

}  // namespace cleave::flow
