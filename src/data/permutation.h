// A random order of [0, size) that is computed element by element: it takes no memory, so that any
// place of any epoch of a large dataset is found at once.
//
// A Feistel network of 8 rounds over the next even number of bits; numbers beyond the size go
// through it again (cycle walking), at most four times on average.
#pragma once
#include <cstdint>

namespace cleave::data {

class Permutation {
 public:
  // Equal seeds and streams give equal orders.
  Permutation(int64_t size, uint64_t seed, uint64_t stream);
  int64_t operator()(int64_t at) const;

 private:
  static constexpr int rounds = 8;
  uint64_t pass(uint64_t x) const;

  uint64_t size_ = 0;
  int half_bits_ = 1;
  uint64_t keys_[rounds] = {};
};

}  // namespace cleave::data
