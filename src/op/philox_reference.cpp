#include "op/philox_reference.h"

#include <cstddef>

namespace cleave {
namespace {

struct Product {
  uint32_t high, low;
};

Product multiply(uint32_t a, uint32_t b) {
  const uint64_t product = uint64_t{a} * uint64_t{b};
  return {static_cast<uint32_t>(product >> 32), static_cast<uint32_t>(product & 0xffffffffu)};
}

std::array<uint32_t, 4> one_round(const std::array<uint32_t, 4>& counter,
                                  const std::array<uint32_t, 2>& key) {
  const Product first = multiply(0xD2511F53u, counter[0]);
  const Product second = multiply(0xCD9E8D57u, counter[2]);
  return {second.high ^ counter[1] ^ key[0], second.low, first.high ^ counter[3] ^ key[1],
          first.low};
}

}  // namespace

std::array<uint32_t, 4> philox4x32_10(std::array<uint32_t, 4> counter,
                                      std::array<uint32_t, 2> key) {
  counter = one_round(counter, key);
  for (int round = 1; round < 10; ++round) {
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
    counter = one_round(counter, key);
  }
  return counter;
}

uint32_t random_word(int64_t seed, int64_t step, int64_t stream, int64_t index) {
  const auto low = [](int64_t x) { return static_cast<uint32_t>(static_cast<uint64_t>(x)); };
  const auto high = [](int64_t x) { return static_cast<uint32_t>(static_cast<uint64_t>(x) >> 32); };
  const int64_t block = index / 4;
  const auto words =
      philox4x32_10({low(block), high(block), low(stream), low(step)}, {low(seed), high(seed)});
  return words[static_cast<size_t>(index % 4)];
}

double uniform_of(uint32_t word) { return static_cast<double>(word >> 8) / 16777216.0; }

}  // namespace cleave
