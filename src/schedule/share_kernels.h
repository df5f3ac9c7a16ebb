// Merges kernels that differ only in numbers into one, which takes the numbers as scalars.
//
//   for p0 in 64 parallel { fold over r2 in 256 by 16 { s = sum of %x[p0*256 + r2] } ... }
//   for p0 in 32 parallel { fold over r2 in 64 by 16 { s = sum of %z[p0*64 + r2] } ... }
//
//   kernel %y(..., number0: scalar (256, 64)) ...
//   for p0 in 64 parallel { fold over r2 in number0 by 16 { s = sum of %x[p0*number0 + r2] } ... }
//
// Kernels must be scheduled, and what the numbers decided in that must be equal: which loops run in
// vectors, with or without a tail, and in which blocks sums are taken. A number stays a constant if
// the machine code would be slower or vectorized differently without it: divisors in inner loops,
// strides between lanes, sizes of local buffers, shifts, small numbers, and all types but i64 and
// f32. The bits don't change. The extents of parallel loops are arguments of each call anyway.
#pragma once
#include <span>

#include "loop/kernel.h"

namespace cleave::schedule {

struct SharedKernels {
  struct Use {
    size_t kernel = 0;             // in `kernels`
    std::vector<int64_t> scalars;  // passed after the kernel's own
  };
  std::vector<loop::Kernel> kernels;  // with the names and extents of their first users
  std::vector<Use> uses;              // for each kernel that was given
};

SharedKernels share_kernels(std::span<const loop::Kernel> scheduled);

}  // namespace cleave::schedule
