// Best-fit: always fills the lowest segment of the skyline with the best ranked buffer that fits.
//
//   height   +---+                     the lowest segment [l, u) takes the best ranked buffer whose
//     ^      |   |       +----+        sections are inside it; without one, it is raised to its
//     |  +---+   |  here |    |        lower neighbour (waste)
//     |  |       +-------+    |
//     +--+-------l-------u----+---> section
//
// Buffers that are fixed beforehand hang above: nothing is placed through them, and each joins the
// skyline when that reaches it. n placements and at most 2n raises, each a query of the tree of
// offsets_fit_tree.h.
// Source: the skyline heuristic of strip packing (Burke, Kendall, Whitwell 2004), used for
// activations by Sekiyama et al., "Profile-guided memory optimization for deep neural networks".
#pragma once
#include "plan/offsets_problem.h"

namespace cleave::plan {

enum class FitOrder { tightest_time, size, area, time };

// `low` (by buffer of the problem, may be empty): placed before all others. `fixed` (may be empty):
// offsets of buffers that are already placed, at most some tens, and -1 for the others.
Placement best_fit(const OffsetProblem& p, FitOrder order, const std::vector<bool>& low,
                   const Placement& fixed = {});

}  // namespace cleave::plan
