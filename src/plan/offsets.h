// Offsets for buffers whose lifetimes are known: Dynamic Storage Allocation.
//
//   offset
//     ^   +-------+
//     |   |   b   |  +---+        two buffers may share an address only when
//     |   +---+---+--+ d |        their lifetimes [lower, upper) do not meet
//     |   | a |   c  |---+
//     +---+---+------+------> step
//
// Integers only; units are the caller's (bytes here). Offsets are multiples of `alignment`.
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
  int64_t height = 0;       // largest offset + size
  int64_t lower_bound = 0;  // largest sum of sizes alive at one step
};

// Best of several greedy orders (by size, by lifetime, by area), each placing a buffer at the
// lowest gap that fits. Buffers of `low` (indices) come first, from offset 0 up. O(n^2) in the
// worst case.
Offsets plan_offsets(const std::vector<Lifetime>& buffers, int64_t alignment,
                     const std::vector<size_t>& low = {});

// Checks a plan without the planner's code: aligned, non-negative, no two buffers that are alive
// together overlap, height and bound as stated.
Status verify_offsets(const std::vector<Lifetime>& buffers, int64_t alignment, const Offsets& plan);

}  // namespace cleave::plan
