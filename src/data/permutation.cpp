#include "data/permutation.h"

#include <algorithm>
#include <bit>

#include "base/split_mix.h"

namespace cleave::data {
Permutation::Permutation(int64_t size, uint64_t seed, uint64_t stream)
    : size_(static_cast<uint64_t>(size)) {
  const int bits = size_ > 1 ? std::bit_width(size_ - 1) : 1;
  half_bits_ = std::max(1, (bits + 1) / 2);
  uint64_t state = split_mix(seed + split_mix_step) ^ split_mix(stream * 2 + 1);
  for (uint64_t& key : keys_) key = split_mix(state += split_mix_step);
}

uint64_t Permutation::pass(uint64_t x) const {
  const uint64_t mask = (uint64_t{1} << half_bits_) - 1;
  uint64_t left = x >> half_bits_, right = x & mask;
  for (const uint64_t key : keys_) {
    const uint64_t next = left ^ (split_mix(right + key) & mask);
    left = right;
    right = next;
  }
  return left << half_bits_ | right;
}

int64_t Permutation::operator()(int64_t at) const {
  uint64_t x = pass(static_cast<uint64_t>(at));
  while (x >= size_) x = pass(x);
  return static_cast<int64_t>(x);
}

}  // namespace cleave::data
