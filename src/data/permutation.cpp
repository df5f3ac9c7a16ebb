#include "data/permutation.h"

#include <algorithm>
#include <bit>

namespace cleave::data {
namespace {

// The finalizer of SplitMix64 (Steele, Lea and Flood, 2014).
uint64_t mixed(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

}  // namespace

Permutation::Permutation(int64_t size, uint64_t seed, uint64_t stream)
    : size_(static_cast<uint64_t>(size)) {
  const int bits = size_ > 1 ? std::bit_width(size_ - 1) : 1;
  half_bits_ = std::max(1, (bits + 1) / 2);
  uint64_t state = mixed(seed + 0x9e3779b97f4a7c15u) ^ mixed(stream * 2 + 1);
  for (uint64_t& key : keys_) key = mixed(state += 0x9e3779b97f4a7c15u);
}

uint64_t Permutation::pass(uint64_t x) const {
  const uint64_t mask = (uint64_t{1} << half_bits_) - 1;
  uint64_t left = x >> half_bits_, right = x & mask;
  for (const uint64_t key : keys_) {
    const uint64_t next = left ^ (mixed(right + key) & mask);
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
