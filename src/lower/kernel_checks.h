// What a kernel checks of the elements that it reads, from its loops alone.
//
//   for p in 768 parallel {
//     let i = idx[p]                       every element of idx, if it has 768
//     fold over r in 128 {                 runs at least once
//       check 0 <= i < 63
#pragma once
#include <vector>

#include "loop/kernel.h"

namespace cleave {

// That elements are in [0, bound), or in [-bound, bound).
struct IndexRange {
  size_t buffer = 0;
  int64_t bound = 0;
  bool from_zero = false;
  // What holds here says that the other does.
  bool implies(const IndexRange& other) const {
    return bound <= other.bound && (from_zero || !other.from_zero);
  }
};
struct KernelChecks {
  bool any = false;
  bool come_first = false;         // no element is stored before the last check
  bool only_ranges = false;        // `needed` are all of them
  std::vector<IndexRange> needed;  // of single elements
  std::vector<IndexRange> proven;  // of every element of the buffer, read or written, once it ran
};
KernelChecks checks_of(const loop::Kernel& kernel);

}  // namespace cleave
