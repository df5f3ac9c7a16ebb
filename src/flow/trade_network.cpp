#include "flow/trade_network.h"

#include "flow/search_trees.h"

namespace cleave::flow {
namespace {

template <class Cap>
std::vector<uint8_t> solve(const TradeNetwork& network, Price price, Nearest nearest) {
  SearchTrees<Cap> trees;
  trees.load(network.nodes(), network.arcs, price.cost);
  for (int32_t n = 0; n < network.nodes(); ++n) {
    const auto i = static_cast<size_t>(n);
    trees.add_excess(n, Cap{price.bytes} * network.cost[i] - Cap{price.cost} * network.demand[i]);
  }
  trees.sweep();
  trees.solve();
  std::vector<uint8_t> sink_side(network.cost.size());
  for (int32_t n = 0; n < network.nodes(); ++n)
    sink_side[static_cast<size_t>(n)] =
        nearest == Nearest::source ? !trees.reached_by_excess(n) : trees.reaches_deficit(n);
  return sink_side;
}

int128 max_capacity(const TradeNetwork& network, Price price) {
  int128 cost = 0, bytes = 0;
  for (int64_t c : network.cost) cost += c;
  for (int64_t d : network.demand) bytes += d < 0 ? -d : d;
  for (const Arc& a : network.arcs)
    if (a.capacity != infinite) bytes += a.capacity;
  return cost * price.bytes + bytes * price.cost;
}

}  // namespace

Result<std::vector<uint8_t>> cut_at(const TradeNetwork& network, Price price, Nearest nearest) {
  if (price.cost < 0 || price.bytes < 0 || price.cost >= finite_limit ||
      price.bytes >= finite_limit || (price.cost == 0 && price.bytes == 0))
    return user_error("flow: price {} / {}: expected two numbers in [0, 2^60), not both 0",
                      price.cost, price.bytes);
  if (max_capacity(network, price) < finite_limit) return solve<int64_t>(network, price, nearest);
  return solve<int128>(network, price, nearest);
}

}  // namespace cleave::flow
