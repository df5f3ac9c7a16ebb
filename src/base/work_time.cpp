#include "base/work_time.h"

#include <algorithm>
#include <cmath>

namespace cleave {

int64_t work_ns(int64_t flops, int64_t bytes, double gflops, const MachineRates& rates) {
  constexpr double max_ns = 0x1p50;  // so that a sum of many can't overflow
  const double ns = std::max(static_cast<double>(flops) / gflops,
                             static_cast<double>(bytes) / rates.memory_gigabytes);
  return std::max<int64_t>(1,
                           static_cast<int64_t>(rates.call_ns + std::min(std::ceil(ns), max_ns)));
}

}  // namespace cleave
