// A network whose cuts trade cost against bytes, and its minimum cut at a price.
//
//     source ── price.bytes * cost[n] ──► n ── price.cost * capacity ──► m
//                                         n ── price.cost * demand[n] ──► sink
//
//   price      cost / bytes: the cost of a byte. A minimum cut minimises price.bytes * C +
//              price.cost * B; these are integers, so that it is exact at every rational price
//   C          sum of cost over the nodes on the sink's side
//   B          sum of the capacities cut, and of the demand of nodes on the source's side
//   demand     bytes to the sink minus bytes from the source; if it is negative, the node has an
//              arc of -demand bytes from the source (B then starts at the sum of these)
//
// As the price rises, the sink's side only grows: the minimum cuts are nested.
//
// Bounds: costs sum to less than 2^59, and so do |demand| and finite capacities together. Networks
// in which price.bytes * sum(cost) + price.cost * sum(bytes) is below 2^60 are solved in 64 bits,
// all others in 128.
#pragma once
#include "flow/network.h"

namespace cleave::flow {

struct Price {
  int64_t cost = 0, bytes = 1;  // both in [0, 2^60), not both 0
};

struct TradeNetwork {
  std::vector<int64_t> cost;    // by node, at least 0
  std::vector<int64_t> demand;  // by node
  std::vector<Arc> arcs;        // in bytes, or infinite; fastest from lower to higher nodes

  int32_t nodes() const { return static_cast<int32_t>(cost.size()); }
};

// By node: whether it is on the sink's side of a minimum cut. The network must keep the bounds.
// Errors (user): a price outside its range.
Result<std::vector<uint8_t>> cut_at(const TradeNetwork& network, Price price, Nearest nearest);

}  // namespace cleave::flow
