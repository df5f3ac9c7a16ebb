// The minimum cuts of a trade network for all prices: the lower convex hull of (bytes, cost), each
// corner with its cut.
//
//     cost
//      ^ o                     o   corners: minimum cuts, nested (the sink's side grows leftwards)
//      |  \                    \   slope: -price
//      |   o
//      |    `--.o_
//      |          `----o       corner 0: no cost that can be avoided
//      +---------------------► bytes
//
// Divide and conquer over sets of nodes (subproblems): at the price of the chord between its two
// ends, the source and sink capacities of a subproblem are equal. If all excess can flow off, the
// whole set moves to the sink's side at that price; else the minimum cut divides it in two, which
// are solved separately, each with the other contracted, and each connected component on its own.
// The area between hull and chords falls to a quarter each time (Eisner, Severance), so there are
// at most (log2(cost) + log2(bytes)) / 2 + 1 levels, and each level is one flow through the rest of
// the network. Exact: prices are pairs of integers; where products with them exceed 64 bits, a
// nearby price with smaller terms is tried first, and only what it doesn't divide is solved in 128
// bits.
//
// Sources: Gallo, Grigoriadis, Tarjan, "A fast parametric maximum flow algorithm and applications"
// (1989); Eisner, Severance, "Mathematical techniques for efficient record segmentation in large
// shared databases" (1976).
#pragma once
#include "flow/trade_network.h"

namespace cleave::flow {

struct Frontier {
  enum : int32_t { never = -1 };
  struct Segment {
    Price price;        // in lowest terms; strictly rising
    int64_t cost = 0;   // how much it rises
    int64_t bytes = 0;  // how much they fall, more than 0
  };
  std::vector<Segment> segments;  // corner k is reached by the first k
  std::vector<int32_t> corner;    // by node: on the sink's side from this corner on, or never
};

// The network must keep its bounds. Corner 0 is the cheapest in cost, then in bytes; the last is
// the smallest in bytes, then in cost.
Result<Frontier> find_frontier(const TradeNetwork& network);

}  // namespace cleave::flow
