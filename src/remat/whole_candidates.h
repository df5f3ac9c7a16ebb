// Whole programs in which calls run again as they stand before fusion: what the exact frontier
// gives, and what costs next to nothing.
//
//   graph ─► ExactCut ─► points ─► its halves as one program
//     └────► cheap_remat
//
// They don't depend on a budget. A large graph has fewer points of its frontier, evenly drawn, and
// each with the bytes that are in memory between its halves, as far as no kernel belongs to both.
#pragma once
#include <functional>

#include "cut/call_cost.h"
#include "ir/graph.h"

namespace cleave {

struct WholeCandidate {
  int64_t recompute_ns = 0;             // of the calls that stand twice
  int64_t min_peak = 0;                 // placeholders and what is saved; 0: not known
  std::function<Result<Graph>()> make;  // not fused yet
};

// Of a decomposed static graph; `forward_results` as in CompileOptions. The cheapest first. Where
// the frontier is refused (user error: contradicting tags, a result that needs a tangent) there is
// none of it.
Result<std::vector<WholeCandidate>> whole_candidates(const Graph& graph, size_t forward_results,
                                                     const MachineRates& rates);

}  // namespace cleave
