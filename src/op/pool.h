// The windows of a pooling, over the last 2 or 3 dims.
//
//   window o of a dim covers o*stride - padding + t*dilation for t in [0, kernel), inside or not
//   windows = floor((size + 2 padding - dilation (kernel-1) - 1) / stride) + 1; with ceil_mode
//   rounded up, but the last one begins inside the input or its leading padding
//
//   (C1) kernel_size, stride, padding and dilation have one entry for each pooled dim, or one for
//        all; stride [] is kernel_size
//   (C2) kernel_size, stride, dilation >= 1; 0 <= padding <= half of the window's reach
//   (C3) dtype of self
//   (C4) self has one or two dims more than are pooled; only the first of two may be empty
//   (C5) at least one window fits
#pragma once
#include "op/cost.h"
#include "op/dims.h"
#include "op/entry.h"
#include "op/sample_sets.h"
#include "op/taps.h"

namespace cleave {

struct PoolWindows {
  std::vector<int64_t> kernel, stride, padding, dilation;
  bool ceil_mode = false;
  size_t rank() const { return kernel.size(); }
  // Whether window o of a dim of this size contains only padding: dilation steps over the input.
  bool is_outside(size_t d, int64_t size, int64_t o) const {
    const int64_t start = o * stride[d] - padding[d];
    const int64_t missed = start < 0 ? (-start + dilation[d] - 1) / dilation[d] : 0;
    return missed >= kernel[d] || start + missed * dilation[d] >= size;
  }
  Dim count(const Dim& size, size_t d) const;
};

// Returns the attributes of a checked call that pools `rank` dims.
PoolWindows pool_windows(const OpView& op, size_t rank);

// Returns the result shape for an input at this operand position; checks C1, C2, C4 and C5.
Result<Shape> pooled_shape(const OpView& op, int input, size_t rank);
// Checks C4 only.
Status check_pool_rank(const OpView& op, int input, size_t rank);

// The results that read input position i, for windows without dilation, in order: the last one is
// floor((i+p)/s).
DimTaps windows_over(const PoolWindows& w, size_t d, int64_t count);

// For references: the attributes by pooled dim, as given in the call.
struct PoolEntries {
  std::vector<int64_t> kernel, stride, padding, dilation;
  PoolEntries(const OpView& op, size_t rank);
};
// Calls f(plane's number, position in the pooled dims) for all elements of `shape`.
void for_each_position(const std::vector<int64_t>& shape, size_t rank,
                       const std::function<void(int64_t, const std::vector<int64_t>&)>& f);

}  // namespace cleave
