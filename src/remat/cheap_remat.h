// Values that are very cheap to compute again aren't kept for the backward.
//
//   before    x ──► y = gelu(x) ──► product ...................... y ──► product's gradient
//             └─────────────────────────────────────────────────── x ──► gelu's gradient
//   after     x ──► y = gelu(x) ──► product              y = gelu(x) ──► product's gradient
//             └─────────────────────────────────────────────────── x ──► gelu's gradient
//
// Only values that are alive at the peak are recomputed, from values that are in memory anyway;
// those that free most bytes for their time first, while all of them together take no more than a
// small fraction of the program's time. If the estimated peak hardly falls, nothing is changed.
//
// What reads a large operand in another order than it lies in isn't cheap: images that are turned
// for a library call are turned once.
//
// Peaks are estimated from the sizes of values, times from the cost table; of the program's time
// calls that will be fused are as much as their results take to write. This is done to programs
// without a budget; those with one are planned exactly (remat/budget_family.h). Bits don't change:
// the same calls run on the same values, random ones with the same streams.
#pragma once
#include "cut/call_cost.h"

namespace cleave {

struct CheapRemat {
  int64_t calls = 0;         // that run again
  int64_t recompute_ns = 0;  // by the table
  int64_t freed_bytes = 0;   // of the estimated peak
};

struct CheapRematLimits {
  double max_time = 1.0 / 64;   // of the program's, by the table
  double min_gain = 1.0 / 32;   // of the estimated peak
  int64_t min_bytes = 1 << 16;  // of a value
  int64_t far_calls = 24;       // in which nothing reads it
};

// For a static graph; the order of its nodes is kept. O(n log n) in its nodes.
Result<CheapRemat> cheap_remat(Graph& graph, const MachineRates& rates,
                               const CheapRematLimits& limits = {});

}  // namespace cleave
