// Sizes that are likely to find errors: around every constant at which the compiler changes what it
// does (lanes, columns, parts, rows that fill half a cache), primes, ones, even and odd numbers.
#pragma once
#include <random>
#include <string>
#include <vector>

namespace cleave::random {

// A constant of a source of cleave.
struct Threshold {
  std::string name;
  int64_t value;
  std::string file;
};
// The constants that sizes can reach, in the order of their values; the build collects them from
// the sources (cmake/write_thresholds.cmake).
const std::vector<Threshold>& thresholds();

// A size in [least, most]. The larger `most`, the more of the thresholds can be met.
int64_t draw_size(std::mt19937_64& rng, int64_t least, int64_t most);

// Sizes of `rank` dims with at most `elements` elements, one of them large where there is room; at
// times a product of two neighbours lies at a threshold.
std::vector<int64_t> draw_shape(std::mt19937_64& rng, size_t rank, int64_t elements);

}  // namespace cleave::random
