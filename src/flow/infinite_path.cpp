#include "flow/infinite_path.h"

#include <algorithm>

namespace cleave::flow {
namespace {

size_t index(int32_t i) { return static_cast<size_t>(i); }

// The infinite arcs that leave each node, in the network's order (compressed rows).
struct Leaving {
  explicit Leaving(const Network& network) : begin(network.source.size() + 1), arc() {
    for (const Arc& a : network.arcs)
      if (a.capacity == infinite) ++begin[index(a.tail) + 1];
    for (size_t n = 1; n < begin.size(); ++n) begin[n] += begin[n - 1];
    arc.resize(begin.back());
    std::vector<size_t> at(begin.begin(), begin.end() - 1);
    for (size_t a = 0; a < network.arcs.size(); ++a)
      if (network.arcs[a].capacity == infinite)
        arc[at[index(network.arcs[a].tail)]++] = static_cast<int32_t>(a);
  }
  std::vector<size_t> begin;
  std::vector<int32_t> arc;
};

}  // namespace

std::optional<InfinitePath> find_infinite_path(const Network& network) {
  constexpr int32_t unseen = -2, start = -1;
  std::vector<int32_t> reached_by(network.source.size(), unseen), queue;
  for (int32_t n = 0; n < network.nodes(); ++n)
    if (network.source[index(n)] == infinite) {
      reached_by[index(n)] = start;
      queue.push_back(n);
    }
  if (queue.empty() ||
      std::find(network.sink.begin(), network.sink.end(), infinite) == network.sink.end())
    return std::nullopt;
  const Leaving leaving(network);
  for (size_t k = 0; k < queue.size(); ++k) {
    const int32_t n = queue[k];
    if (network.sink[index(n)] == infinite) {
      InfinitePath path{n, n, {}};
      for (int32_t a; (a = reached_by[index(path.first)]) != start;) {
        path.arcs.push_back(a);
        path.first = network.arcs[index(a)].tail;
      }
      std::reverse(path.arcs.begin(), path.arcs.end());
      return path;
    }
    for (size_t i = leaving.begin[index(n)]; i < leaving.begin[index(n) + 1]; ++i) {
      const int32_t head = network.arcs[index(leaving.arc[i])].head;
      if (reached_by[index(head)] != unseen) continue;
      reached_by[index(head)] = leaving.arc[i];
      queue.push_back(head);
    }
  }
  return std::nullopt;
}

}  // namespace cleave::flow
