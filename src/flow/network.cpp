#include "flow/network.h"

namespace cleave::flow {
namespace {

constexpr size_t max_items = size_t{1} << 30;

// Adds c to a sum of finite capacities; false if c is negative or the sum reaches finite_limit.
bool add_capacity(Capacity& sum, Capacity c) {
  if (c == infinite) return true;
  if (c < 0 || c >= finite_limit) return false;
  sum += c;
  return sum < finite_limit;
}

}  // namespace

Status check_network(const Network& network) {
  const size_t nodes = network.source.size();
  if (network.sink.size() != nodes)
    return user_error("flow: {} source arcs and {} sink arcs, expected one of each a node", nodes,
                      network.sink.size());
  if (nodes > max_items || network.arcs.size() > max_items)
    return user_error("flow: {} nodes and {} arcs, at most {} of each are handled", nodes,
                      network.arcs.size(), max_items);
  Capacity sum = 0;
  for (size_t n = 0; n < nodes; ++n)
    if (!add_capacity(sum, network.source[n]) || !add_capacity(sum, network.sink[n]))
      return user_error(
          "flow: node {}: capacities {} and {}: expected at least 0 and a finite sum below 2^60; "
          "use a larger unit",
          n, network.source[n], network.sink[n]);
  for (size_t a = 0; a < network.arcs.size(); ++a) {
    const Arc& arc = network.arcs[a];
    const auto count = static_cast<int32_t>(nodes);
    if (arc.tail < 0 || arc.tail >= count || arc.head < 0 || arc.head >= count)
      return user_error("flow: arc {} goes from node {} to {}, expected [0, {})", a, arc.tail,
                        arc.head, nodes);
    if (!add_capacity(sum, arc.capacity))
      return user_error(
          "flow: arc {}: capacity {}: expected at least 0 and a finite sum below 2^60; use a "
          "larger unit",
          a, arc.capacity);
  }
  return {};
}

}  // namespace cleave::flow
