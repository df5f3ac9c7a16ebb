// Best-fit: always fills the lowest place of the skyline, with the first buffer by rank that fits.
//
//   height   +---+                     the lowest segment [l, u) takes the best ranked buffer whose
//     ^      |   |       +----+        sections lie inside it; where none does, it is raised to its
//     |  +---+   |  here |    |        lower neighbour (waste)
//     |  |       +-------+    |
//     +--+-------l-------u----+---> section
//
// What is fixed beforehand hangs above: nothing goes through it, and it joins the skyline when that
// gets there. n placements and at most 2n raises, each a query of the tree of offsets_fit_tree.h.
// Source: the skyline heuristic of strip packing (Burke, Kendall, Whitwell 2004), used for
// activations by Sekiyama et al., "Profile-guided memory optimization for deep neural networks".
#pragma once
#include "plan/offsets_problem.h"

namespace cleave::plan {

enum class FitOrder { tightest_steps, size, area, steps };

// `low` (by buffer of the problem, may be empty) are placed before all others. `fixed` (may be
// empty) is where some lie already, -1 for the others; some tens at most.
Placement best_fit(const OffsetProblem& p, FitOrder order, const std::vector<bool>& low,
                   const Placement& fixed = {});

}  // namespace cleave::plan
