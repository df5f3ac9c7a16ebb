// What costs next to nothing to compute again isn't kept for the backward.
//
//   kept      x ──► y = gelu(x) ──► product ...................... y ──► product's gradient
//             └─────────────────────────────────────────────────── x ──► gelu's gradient
//   kept      x ──► y = gelu(x) ──► product                   y again ──► product's gradient
//   less      └───────────────────────────────────────────────── x ──► gelu's gradient
//
// Only values that are alive at the highest moment, from values that are kept there anyway; those
// that free most for their time first, as long as all of them together take no more than a small
// share of the program's. Where the estimated peak hardly falls, the program stays as it is.
//
// Peaks and times are estimates, of values' sizes and by the cost table: this is what programs do
// that are given no budget. One with a budget is planned exactly (remat/budget_family.h). Bits
// don't change: the same calls on the same values, random ones with the same streams.
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

// A static graph, whose order is kept. O(n log n) in its nodes.
Result<CheapRemat> cheap_remat(Graph& graph, const MachineRates& rates,
                               const CheapRematLimits& limits = {});

}  // namespace cleave
