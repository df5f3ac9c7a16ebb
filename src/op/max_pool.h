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

SampleAttrs max_pool_call(std::vector<int64_t> kernel, std::vector<int64_t> stride,
                          std::vector<int64_t> padding, std::vector<int64_t> dilation,
                          bool ceil_mode);

}  // namespace cleave
