#include "backend/pack_units.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace cleave {

std::vector<size_t> pack_units(std::span<const size_t> bytes, size_t units) {
  std::vector<size_t> order(bytes.size()), out(bytes.size()), lengths(units);
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::greater(), [&](size_t k) { return bytes[k]; });
  for (const size_t k : order) {
    if (bytes[k] == 0) continue;
    const auto shortest = std::ranges::min_element(lengths);
    *shortest += bytes[k];
    out[k] = static_cast<size_t>(shortest - lengths.begin());
  }
  return out;
}

}  // namespace cleave
