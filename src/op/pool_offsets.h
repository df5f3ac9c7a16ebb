// Shared by _low_memory_max_pool_with_offsets and its backward.
#pragma once
#include "op/max_pool.h"

namespace cleave {

constexpr int64_t most_pool_offsets = 127;

// As many dims as kernel_size has entries.
size_t pooled_rank(const OpView& op);
// C1: 1 to 3 of them.
Status check_window(const OpView& op);
// C1 and C2 of pool.h, for a call without the image that is pooled.
Status check_pool_windows(const OpView& op, size_t rank);
// C6, once the entries are known to be positive: offsets are i8.
Status check_offsets(const OpView& op);

// For references. The position of a window's element in the pooled dims, row-major; -1: it lies
// outside.
int64_t position_of_tap(const PoolEntries& given, const std::vector<int64_t>& size,
                        const std::vector<int64_t>& window, const std::vector<int64_t>& tap);

struct PoolCase {
  std::vector<int64_t> image;
  PoolWindows windows;
};
std::vector<PoolCase> pool_cases();
SampleAttrs pool_call(const PoolWindows& windows);

}  // namespace cleave
