// The 0/1 knapsack: which items to keep within a capacity so that their value is largest.
//
//   items 0, 1, 2, ...   memory >= 0, value >= 0; an item of value 0 is never kept; of equal items
//                        the first ones are kept; of equally good sets dp keeps the one that leaves
//                        later items out
//
// Integers only, in the caller's units; the kept memory never exceeds the capacity.
#pragma once
#include <cstdint>
#include <vector>

#include "base/result.h"

namespace cleave {

struct KnapsackItem {
  int64_t memory = 0, value = 0;
};

struct Knapsack {
  std::vector<size_t> kept;  // rising
  int64_t memory = 0, value = 0;
};

enum class KnapsackSolver : uint8_t {
  // PyTorch's: memory in quanta of range / 10,000, rounded to the nearest (half to even), which is
  // fast and nearly exact. Where rounding would let the kept items exceed the capacity, the quanta
  // are rounded up instead. O(items * quanta).
  dp,
  // In the order of falling value / memory, each item that still fits. O(n log n).
  greedy,
  // Exact, without quanta: the Pareto-optimal states of memory and value, pruned by a bound on what
  // the remaining items can add (Nemhauser, Ullmann 1969; Horowitz, Sahni 1974).
  ilp,
};

// `range`: the memory that 10,000 quanta stand for, at least 1. Errors (user): negative numbers,
// sums of 2^62 or more, too many states (dp: more than 2^33 bits of choices, ilp: 2^26 states).
Result<Knapsack> solve_knapsack(const std::vector<KnapsackItem>& items, int64_t capacity,
                                int64_t range, KnapsackSolver solver);

}  // namespace cleave
