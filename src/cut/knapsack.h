// The 0/1 knapsack: which items to keep within a capacity so that their value is largest.
//
//   items 0, 1, 2, ...   memory >= 0, value >= 0; an item of value 0 is never kept; of equal items
//                        the first ones are kept; of equally good sets dp keeps the one that leaves
//                        later items out
//
// Integers, in the caller's units; the kept memory never exceeds the capacity. PyTorch's floats,
// where they are given, decide alone what fits just so.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "cleave/pytorch_options.h"

namespace cleave {

struct KnapsackItem {
  int64_t memory = 0, value = 0;
};

struct Knapsack {
  std::vector<size_t> kept;  // rising
  int64_t memory = 0, value = 0;
};

// The same problem in PyTorch's numbers, for dp and greedy: an item is memory / 1e9 / range, and
// the capacity is the budget. Equal parts of the range may sum to a hair more than a budget that
// they meet. An item of value 1 beside 2^24 is lost in dp also where all fit.
struct KnapsackFloats {
  double range = 1, budget = 1;
};

// `range`: the memory that 10,000 quanta stand for, at least 1. Errors (user): negative numbers,
// sums of 2^62 or more, too many states (dp: more than 2^33 bits of choices, ilp: 2^26 states).
Result<Knapsack> solve_knapsack(const std::vector<KnapsackItem>& items, int64_t capacity,
                                int64_t range, KnapsackSolver solver,
                                const std::optional<KnapsackFloats>& floats = {});

}  // namespace cleave
