// Whole programs in which unfused calls run again: those of the exact frontier, and the one of
// cheap_remat.
//
//   graph ─► ExactCut ─► points ─► the halves of each as one program
//     └────► cheap_remat
//
// They don't depend on a budget. For a large graph only some points of the frontier are used,
// evenly spaced. What a point keeps bounds no peak from below: fusion may make one kernel of calls
// of both halves, and then a kept value is never in memory.
#pragma once
#include <functional>

#include "cut/call_cost.h"
#include "ir/graph.h"

namespace cleave {

struct WholeCandidate {
  int64_t recompute_ns = 0;             // of the calls that run twice
  std::function<Result<Graph>()> make;  // not fused yet
};

// For a decomposed static graph, the cheapest first; `forward_results` as in StageOptions. If the
// frontier can't be made (user error: contradicting tags, a result that needs a tangent), there are
// no candidates of it.
Result<std::vector<WholeCandidate>> whole_candidates(const Graph& graph, size_t forward_results,
                                                     const MachineRates& rates);

}  // namespace cleave
