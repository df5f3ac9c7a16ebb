// A flow network on flat arrays.
//
//            source[n]                       sink[n]
//     source ─────────► n ──── arcs ────► m ─────────► sink
//
// The source and the sink aren't numbered as nodes: each node has one arc from the source and one
// to the sink, whose capacity may be 0. Arcs between nodes may be parallel, opposite or loops.
//
//   capacity   0, 1, 2, ... or `infinite`, which no flow fills and no cut may cross
//   bound      finite capacities of a network sum to less than 2^60, so that no sum overflows
//   cut        the nodes on the source's side; its value is the capacity of the arcs that leave it
#pragma once
#include <cstdint>
#include <limits>
#include <vector>

#include "base/result.h"

namespace cleave::flow {

using Capacity = int64_t;
inline constexpr Capacity infinite = std::numeric_limits<Capacity>::max();
inline constexpr Capacity finite_limit = Capacity{1} << 60;

struct Arc {
  int32_t tail = 0, head = 0;
  Capacity capacity = 0;
};

struct Network {
  explicit Network(size_t nodes = 0) : source(nodes), sink(nodes) {}
  int32_t nodes() const { return static_cast<int32_t>(source.size()); }

  std::vector<Capacity> source, sink;  // by node
  std::vector<Arc> arcs;               // arcs are named by their index
};

// Of several minimum cuts: the one with the fewest nodes on the source's side, or with the most.
// Both are unique.
enum class Nearest : uint8_t { source, sink };

// A feasible flow: through the source and sink arc of each node, and through each arc.
struct Flow {
  Capacity value = 0;
  std::vector<Capacity> source, sink, arc;
};

// Errors (user): a negative capacity, an arc to a node that isn't there, a finite sum of 2^60 or
// more, more than 2^30 arcs or nodes. O(nodes + arcs).
Status check_network(const Network& network);

}  // namespace cleave::flow
