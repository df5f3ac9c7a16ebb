#include "flow/settle_flow.h"

#include <algorithm>

#include "flow/search_trees.h"

namespace cleave::flow {
namespace {

enum class Direction : uint8_t { to_source, to_sink };

size_t index(int32_t i) { return static_cast<size_t>(i); }
Capacity terminal(Capacity c) { return std::min(c, finite_limit); }

// The flow into each node minus the flow out of it.
std::vector<Capacity> net_inflow(const Network& network, const std::vector<Capacity>& arc) {
  std::vector<Capacity> inflow(network.source.size());
  for (size_t a = 0; a < arc.size(); ++a) {
    inflow[index(network.arcs[a].head)] += arc[a];
    inflow[index(network.arcs[a].tail)] -= arc[a];
  }
  return inflow;
}

// Removes flow from arcs so that each node's inflow is at most its sink capacity (to_source: excess
// goes back along the arcs that carry flow), or at least minus its source capacity (to_sink:
// deficit is passed forward along them).
void move_along(const Network& network, Direction direction, std::vector<Capacity>& arc) {
  const std::vector<Capacity> inflow = net_inflow(network, arc);
  std::vector<Arc> carrying = network.arcs;
  for (size_t a = 0; a < arc.size(); ++a) {
    carrying[a].capacity = arc[a];
    if (direction == Direction::to_source) std::swap(carrying[a].tail, carrying[a].head);
  }
  SearchTrees<Capacity> trees;
  trees.load(network.nodes(), carrying, 1);
  for (int32_t n = 0; n < network.nodes(); ++n)
    trees.add_excess(n, direction == Direction::to_source
                            ? inflow[index(n)] - terminal(network.sink[index(n)])
                            : -inflow[index(n)] - terminal(network.source[index(n)]));
  trees.solve();
  for (size_t a = 0; a < arc.size(); ++a) arc[a] -= trees.pushed(a);
}

}  // namespace

Flow settle_flow(const Network& network, std::vector<Capacity> arc) {
  move_along(network, Direction::to_source, arc);
  move_along(network, Direction::to_sink, arc);
  Flow flow;
  flow.source.resize(network.source.size());
  flow.sink.resize(network.source.size());
  const std::vector<Capacity> inflow = net_inflow(network, arc);
  for (size_t n = 0; n < inflow.size(); ++n) {
    flow.sink[n] = std::min(network.sink[n], terminal(network.source[n]) + inflow[n]);
    flow.source[n] = flow.sink[n] - inflow[n];
    flow.value += flow.source[n];
  }
  flow.arc = std::move(arc);
  return flow;
}

}  // namespace cleave::flow
