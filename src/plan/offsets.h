// Offsets for buffers whose lifetimes are known: Dynamic Storage Allocation.
//
//   offset
//     ^   +-------+
//     |   |   b   |  +---+        two buffers may share an address only when
//     |   +---+---+--+ d |        their lifetimes [lower, upper) do not meet
//     |   | a |   c  |---+
//     +---+---+------+------> step
//
// Integers only; units are the caller's (bytes here). Offsets are multiples of `alignment`, and
// every size counts rounded up to it. The sum of all rounded sizes must fit in 62 bits
// (check_lifetimes says whether it does).
//
// The way: best-fit by several orders (offsets_best_fit.h); best-fit around the tightest moment,
// solved first (offsets_core.h); complete search where the problem is small (offsets_search.h). All
// of it is counted in operations, so that equal input gives equal offsets.
#pragma once
#include <cstdint>
#include <vector>

#include "base/result.h"

namespace cleave::plan {

struct Lifetime {
  int64_t lower = 0, upper = 0;  // half-open range of steps
  int64_t size = 0;              // 0 takes no space
};

struct Offsets {
  std::vector<int64_t> offset;
  int64_t height = 0;       // largest offset + rounded size
  int64_t lower_bound = 0;  // proven: the largest sum of sizes alive at a step, or more by search
  bool optimal = false;     // height = lower_bound
};

struct OffsetOptions {
  int64_t alignment = 1;
  // Stop at the first plan that is no higher; below 0: as low as can be found.
  int64_t capacity = -1;
  // Indices of buffers of which only a part may get used, so that others should reach the height:
  // they come first, from offset 0 up, if the plan is good enough even so. Where that costs memory
  // they don't, and the plan is turned over if need be.
  std::vector<size_t> low;
  // Stop also at the first plan that is so little above the bound, in millionths.
  int64_t waste_ppm = 0;
  // Work allowed, in millions of elementary operations (each about a nanosecond): best-fit beyond
  // its first order, and complete search.
  int64_t fit_mops = 500, search_mops = 30;
};

// A UserError: lower >= upper, a negative size, sizes whose sum wraps, an alignment below 1.
Status check_lifetimes(const std::vector<Lifetime>& buffers, int64_t alignment);

// The largest sum of rounded sizes alive at a step: no plan is lower. The buffers must pass
// check_lifetimes, but for empty ones. O(n log n).
int64_t largest_alive(const std::vector<Lifetime>& buffers, int64_t alignment);

// Near n log n for best-fit, the rest within the work allowed. The buffers must pass
// check_lifetimes, but for empty ones, whose lifetime doesn't matter.
Offsets plan_offsets(const std::vector<Lifetime>& buffers, const OffsetOptions& options);
// What a compile can wait for: 0.05% of waste are good enough, and where that takes long the work
// ends after some 10 ns a buffer beyond 30 ms.
Offsets plan_offsets(const std::vector<Lifetime>& buffers, int64_t alignment,
                     const std::vector<size_t>& low = {});

// Checks a plan without the planner's code: aligned, non-negative, no two buffers that are alive
// together overlap, the height covers all and is no lower than the bound. n log n.
Status verify_offsets(const std::vector<Lifetime>& buffers, int64_t alignment, const Offsets& plan);

}  // namespace cleave::plan
