// The random bits of cleave, for the reference rules: Philox 4x32-10.
//
//   key      (low word of seed, high word of seed)
//   counter  (low word of index/4, high word of index/4, stream, low word of step)
//   lane     index mod 4
//
// Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011,
// section 3.3, with the constants of the authors' Random123 1.09. Loops don't use this code.
#pragma once
#include <array>
#include <cstdint>

namespace cleave {

std::array<uint32_t, 4> philox4x32_10(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

// The random word of one element.
uint32_t random_word(int64_t seed, int64_t step, int64_t stream, int64_t index);

// (word >> 8) * 2^-24, in [0, 1).
double uniform_of(uint32_t word);

}  // namespace cleave
