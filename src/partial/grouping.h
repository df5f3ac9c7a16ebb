// Which calls of a graph form a region. All linear in the graph.
//
//   %a = relu(%x)        region 0                 runs:    0 0 . 1 .
//   %b = exp(%a)         region 0                 convex:  0 0 . 0 .
//   %c = sort(%b)        outside
//   %d = tanh(%x)        convex: 0, since it doesn't depend on %c; runs: 1
//   %e = topk(%d)        outside
#pragma once
#include <cstdint>
#include <vector>

#include "cleave/partial.h"
#include "ir/graph.h"

namespace cleave {

struct Groups {
  // The calls in an order in which each region's stand together: the regions in turn, and between
  // them what is outside.
  struct Step {
    std::vector<NodeId> calls;  // one, if it is outside
    bool is_region = false;
  };
  std::vector<Step> steps;
};

// `goes_in` by node. Runs: the given order, cut where a call stays outside. Convex: a call's depth
// is the number of times that a path to it enters a region; the calls of one depth are a region. No
// path leaves a region and comes back, since depths never fall along a path, and no other grouping
// has fewer regions. Views, and what depends on placeholders alone, belong to the region that reads
// them first. Calls with effects and collectives keep their order.
Groups group_calls(const Graph& g, const std::vector<bool>& goes_in, Grouping grouping);

}  // namespace cleave
