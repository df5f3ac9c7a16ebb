// The index checks of a kernel, and the ranges of buffer elements that they prove.
//
//   for p in 768 parallel {
//     let i = idx[p]                       every element of idx, if it has 768
//     fold over r in 128 {                 runs at least once
//       check 0 <= i < 63
//
//     clamped[p] = min(max(i, 0), 62)      proves its range without a check
#pragma once
#include <vector>

#include "loop/kernel.h"

namespace cleave {

// Elements are in [0, bound) if from_zero, else in [-bound, bound).
struct IndexRange {
  size_t buffer = 0;
  int64_t bound = 0;
  bool from_zero = false;
  // Whether elements in this range are in the other one too.
  bool implies(const IndexRange& other) const {
    return bound <= other.bound && (from_zero || !other.from_zero);
  }
};
struct KernelChecks {
  bool any = false;
  bool come_first = false;         // nothing is stored before the last check
  bool only_ranges = false;        // `needed` has all checks
  std::vector<IndexRange> needed;  // of the elements that are checked
  std::vector<IndexRange> proven;  // after it ran, of all elements of a buffer read or written
};
KernelChecks checks_of(const loop::Kernel& kernel);

}  // namespace cleave
