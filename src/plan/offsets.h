// Offsets for buffers whose lifetimes are known: Dynamic Storage Allocation.
//
//   offset
//     ^   +-------+
//     |   |   b   |  +---+        two buffers may share an address only when
//     |   +---+---+--+ d |        their lifetimes [lower, upper) do not meet
//     |   | a |   c  |---+
//     +---+---+------+------> time
//
// Integers only; units are the caller's (bytes here). Offsets are multiples of `alignment`, and
// every size is rounded up to it. The sum of all rounded sizes must fit in 62 bits (check_lifetimes
// checks this).
//
// Method: best-fit by several orders (offsets_best_fit.h); best-fit around the tightest moment,
// solved first (offsets_core.h); complete search if the problem is small (offsets_search.h). Work
// is counted in operations, not time, so that equal input gives equal offsets.
#pragma once
#include <cstdint>
#include <vector>

#include "base/result.h"

namespace cleave::plan {

struct Lifetime {
  int64_t lower = 0, upper = 0;  // half-open range of time
  int64_t size = 0;              // 0 takes no space
};

struct Offsets {
  std::vector<int64_t> offset;
  int64_t height = 0;       // largest offset + rounded size
  int64_t lower_bound = 0;  // proven: the largest sum of sizes alive at a time, or more by search
  bool optimal = false;     // height = lower_bound
};

struct OffsetOptions {
  int64_t alignment = 1;
  // Stops at the first plan that is no higher; below 0: searches for the lowest.
  int64_t capacity = -1;
  // Indices of buffers of which possibly only a part is used, so that other buffers should reach
  // the height: they are placed first, from offset 0 up, if the resulting plan is good enough. If
  // that costs memory they aren't, and the plan is turned over if necessary.
  std::vector<size_t> low;
  // Also stops at the first plan within so many millionths of the bound.
  int64_t waste_ppm = 0;
  // Limits on the work, in millions of elementary operations (each about a nanosecond): for
  // best-fit after its first order, and for complete search.
  int64_t fit_mops = 500, search_mops = 30;
};

// Returns a UserError: lower >= upper, a negative size, an overflowing sum of sizes, alignment < 1.
Status check_lifetimes(const std::vector<Lifetime>& buffers, int64_t alignment);

// The largest sum of rounded sizes alive at a time: a lower bound for every plan. The buffers,
// except empty ones, must pass check_lifetimes. O(n log n).
int64_t largest_alive(const std::vector<Lifetime>& buffers, int64_t alignment);

// About n log n for best-fit, the rest within the work limits. The buffers must pass
// check_lifetimes, except empty ones, whose lifetime doesn't matter.
Offsets plan_offsets(const std::vector<Lifetime>& buffers, const OffsetOptions& options);
// Settings for compilation: accepts 0.05% of waste, and limits the work to about 30 ms plus some 10
// ns a buffer.
Offsets plan_offsets(const std::vector<Lifetime>& buffers, int64_t alignment,
                     const std::vector<size_t>& low = {});

// Checks a plan independently of the planner's code: offsets are aligned and non-negative, no two
// buffers that are alive together overlap, the height covers all and is no lower than the bound.
// O(n log n).
Status verify_offsets(const std::vector<Lifetime>& buffers, int64_t alignment, const Offsets& plan);

}  // namespace cleave::plan
