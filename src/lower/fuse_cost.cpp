#include "lower/fuse_cost.h"

namespace cleave {

FuseCosts FuseCosts::of(const MachineRates& rates) {
  const double flops_of_byte = rates.pointwise_gflops / rates.memory_gigabytes;
  const auto whole = [](double x) { return static_cast<int64_t>(x); };
  return {.cheap_flops = whole(4 * flops_of_byte),
          .flops_of_8_bytes = whole(8 * flops_of_byte),
          .launch_flops = whole(rates.call_ns * rates.pointwise_gflops),
          .launch_bytes = whole(rates.call_ns * rates.cache_gigabytes),
          .row_bytes = whole(rates.cache_bytes / 2)};
}

}  // namespace cleave
