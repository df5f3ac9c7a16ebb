// The cheapest choice whose saved bytes fit, also between the frontier's corners.
//
//     cost ^ o                 o  corners, each the cheapest at its bytes
//          |  \ x              x  the choice found for a budget between two of them
//          |   `.o             the chord: no choice lies below it
//          +--------► bytes
//
// First, the calls that differ between the two corners are divided into connected sets: sets that
// share no value have the same price, so recomputing any of them gives a point on the chord. Then
// branch and bound: the most expensive differing call is fixed as recomputed or not, and the
// frontier of the rest gives a bound and a choice. Ends after `max_frontiers` frontiers, so the
// answer depends on the arguments alone.
#pragma once
#include "flow/partition_frontier.h"

namespace cleave::flow {

struct BudgetChoice {
  PartitionChoice choice;
  int64_t min_cost = 0;  // no choice within the bytes costs less
  bool optimal = false;  // choice.cost is proven least
};

// nullopt if no choice fits. Errors: those of build_partition_network. O(max_frontiers * frontier).
Result<std::optional<BudgetChoice>> choose_within(const ForwardGraph& graph, int64_t bytes,
                                                  int max_frontiers = 64);

// Choices (by call: whether it is recomputed) on the chord from corner `corner` to the next, by
// rising cost, without its ends: connected sets are added one after another, in the order of their
// first calls; at most `max_points` choices, evenly spaced. O(calls * max_points + operands).
std::vector<std::vector<uint8_t>> points_between(const ForwardGraph& graph,
                                                 const PartitionFrontier& frontier, size_t corner,
                                                 size_t max_points = 32);

}  // namespace cleave::flow
