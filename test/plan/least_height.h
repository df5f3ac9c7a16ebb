// The least height of a few buffers by brute force.
#pragma once
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "plan/offsets.h"

namespace cleave::plan {

inline int64_t rounded(int64_t size, int64_t alignment) {
  return (size + alignment - 1) / alignment * alignment;
}

// The smallest height over all orders, each buffer on top of those that it overlaps in time: any
// placement, compacted downwards, is one of these.
inline int64_t min_height(const std::vector<Lifetime>& b, int64_t alignment) {
  std::vector<size_t> order(b.size());
  std::iota(order.begin(), order.end(), size_t{0});
  int64_t least = INT64_MAX;
  do {
    std::vector<int64_t> top(b.size());
    int64_t height = 0;
    for (size_t k = 0; k < order.size(); ++k) {
      const Lifetime& x = b[order[k]];
      int64_t at = 0;
      for (size_t m = 0; m < k; ++m)
        if (const Lifetime& y = b[order[m]]; y.lower < x.upper && x.lower < y.upper)
          at = std::max(at, top[order[m]]);
      top[order[k]] = x.size == 0 ? 0 : at + rounded(x.size, alignment);
      height = std::max(height, top[order[k]]);
    }
    least = std::min(least, height);
  } while (std::next_permutation(order.begin(), order.end()));
  return least;
}

}  // namespace cleave::plan
