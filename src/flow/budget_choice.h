// The cheapest choice whose saved bytes fit: between the frontier's corners.
//
//     cost ^ o                 o  corners, each the cheapest at its bytes
//          |  \ x              x  what is found at a budget between two of them
//          |   `.o             dotted chord: no choice lies below
//          +--------► bytes
//
// First what hangs together among the calls that differ between the two corners: parts that share
// no value have equal prices, so that each set of parts is on the chord. Then branch and bound: the
// dearest differing call is fixed, run again or not, and the frontier of what is left gives the
// bound and a choice. Ends after `max_frontiers`, so the answer depends on the arguments alone.
#pragma once
#include "flow/partition_frontier.h"

namespace cleave::flow {

struct BudgetChoice {
  PartitionChoice choice;
  int64_t min_cost = 0;  // no choice within the bytes costs less
  bool optimal = false;  // choice.cost is proven least
};

// Nothing where no choice fits. Errors: as build_partition_network. O(max_frontiers * frontier).
Result<std::optional<BudgetChoice>> choose_within(const ForwardGraph& graph, int64_t bytes,
                                                  int max_frontiers = 64);

// Recompute sets on the chord from corner `corner` to the next, by growing cost, ends left out:
// the parts that hang together are added one after another, in the order of their first calls; at
// most `max_points` of these sets, evenly spread. O(calls * max_points + operands).
std::vector<std::vector<uint8_t>> points_between(const ForwardGraph& graph,
                                                 const PartitionFrontier& frontier, size_t corner,
                                                 size_t max_points = 32);

}  // namespace cleave::flow
