// The elements that a result of a resized dim reads, for reference rules, which share nothing with
// the kernels' (resampling.h).
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "op/resampling.h"

namespace cleave {

struct ResizeSource {
  int64_t at;
  double weight;
};

// The elements that result o of a dim reads.
inline std::vector<ResizeSource> resize_sources(ResizeMode mode, bool corners,
                                                std::optional<double> scale, int64_t in,
                                                int64_t out, int64_t o) {
  if (in == out && mode == ResizeMode::bilinear) return {{o, 1}, {o, 0}};
  if (in == out) return {{o, 1}};
  if (mode == ResizeMode::nearest) {
    if (out == 2 * in) return {{o / 2, 1}};
    const float r =
        scale ? static_cast<float>(1 / *scale) : static_cast<float>(in) / static_cast<float>(out);
    const float at = std::floor(static_cast<float>(o) * r);
    return {{std::min(static_cast<int64_t>(at), in - 1), 1}};
  }
  const auto n = static_cast<double>(in), m = static_cast<double>(out), k = static_cast<double>(o);
  double s = std::max(0.0, (k + 0.5) * (scale ? 1 / *scale : n / m) - 0.5);
  if (corners) s = out > 1 ? k * ((n - 1) / (m - 1)) : 0;
  const int64_t low = std::min(static_cast<int64_t>(s), in - 1);
  const double f = std::min(1.0, s - static_cast<double>(low));
  return {{low, 1 - f}, {std::min(low + 1, in - 1), f}};
}

}  // namespace cleave
