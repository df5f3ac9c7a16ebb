// Merges kernels that differ only in numbers into one function, which takes the numbers as scalars.
//
//   for (int64_t r2 = 0; r2 < 256; r2 += 16) ... get_f32x16(x_ + ((p0 * 256) + r2))
//   for (int64_t r2 = 0; r2 < 64; r2 += 16) ... get_f32x16(x_ + ((p0 * 64) + r2))
//
//   const int64_t number0 = scalar[0];  // 256, 64
//   for (int64_t r2 = 0; r2 < number0; r2 += 16) ... get_f32x16(x_ + ((p0 * number0) + r2))
//
// The comparison is on texts, so decisions that the numbers determined during emission are part of
// it: which loops run in vectors, with masked tails or without, in which order sums are taken. A
// number stays constant if the machine code would be worse without it: divisors in inner loops,
// distances between lanes, sizes of arrays, shifts, i32 arithmetic, and all small ones. The bits
// are the same.
#pragma once
#include "emit/c_source.h"

namespace cleave::emit {

// Returns what the calls of each kernel pass after the kernel's own scalars. A kernel whose
// functions are those of an earlier one is left without text and with the earlier one's symbols.
std::vector<std::vector<int64_t>> share_functions(std::vector<CKernel>& kernels);

}  // namespace cleave::emit
