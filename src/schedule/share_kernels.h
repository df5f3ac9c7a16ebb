// Merges kernels that differ only in numbers into one, which takes the numbers as scalars.
//
//   for p0 in 64 parallel { fold over r2 in 256 by 16 { s = sum of %x[p0*256 + r2] } ... }
//   for p0 in 32 parallel { fold over r2 in 64 by 16 { s = sum of %z[p0*64 + r2] } ... }
//
//   kernel %y(..., number0: scalar (256, 64)) ...
//   for p0 in 64 parallel { fold over r2 in number0 by 16 { s = sum of %x[p0*number0 + r2] } ... }
//
// Kernels are scheduled before, and what the numbers decided there must be equal: which loops run
// in vectors, with tails or without, in which blocks sums are taken. A number stays a constant
// where the machine code would be worse without it, or vectors would be others: divisors in inner
// loops, distances between lanes, sizes of local buffers, shifts, all small ones, and all but i64
// and f32. The bits are the same. Extents of parallel loops are arguments of each call anyway.
#pragma once
#include <span>

#include "loop/kernel.h"

namespace cleave::schedule {

struct SharedKernels {
  struct Use {
    size_t kernel = 0;             // of `kernels`
    std::vector<int64_t> scalars;  // passed after the kernel's own
  };
  std::vector<loop::Kernel> kernels;  // with the names and extents of the first that use them
  std::vector<Use> uses;              // for each kernel that was given
};

SharedKernels share_kernels(std::span<const loop::Kernel> scheduled);

}  // namespace cleave::schedule
