// Shared by max_pool2d_with_indices, max_pool3d_with_indices and their backwards.
#pragma once
#include "op/pool.h"

namespace cleave {

// Emits body(tap) for every element of a window, unrolled if there are few.
void for_each_window_tap(loop::KernelBuilder& k, const std::vector<int64_t>& counts,
                         const std::function<void(const loop::Exprs&)>& body);

// Pooled dims of a shape, other dims of an index, the row-major position in the pooled dims.
std::vector<int64_t> pooled_part(const std::vector<int64_t>& shape, size_t rank);
loop::Exprs lead_part(const loop::Exprs& index, size_t rank);
loop::Expr position_in(const loop::Exprs& at, const std::vector<int64_t>& size);

// The largest element of the window at `index` and its place: among the pooled dims, or within the
// window (i32).
enum class PoolPlace : uint8_t { index, offset };
loop::Exprs lower_max_pool(loop::KernelBuilder& k, const OpView& op, const loop::Exprs& index,
                           size_t rank, PoolPlace place);
// The windows that contain position i of a dim of so many windows.
DimTaps windows_that_contain(const PoolWindows& w, size_t d, int64_t count);

SampleAttrs max_pool_call(std::vector<int64_t> kernel, std::vector<int64_t> stride,
                          std::vector<int64_t> padding, std::vector<int64_t> dilation,
                          bool ceil_mode);

}  // namespace cleave
