#include "base/layout.h"

#include <algorithm>
#include <utility>

namespace cleave {

std::vector<int64_t> row_major(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= shape[d];
  }
  return strides;
}

int64_t numel_of(const std::vector<int64_t>& shape) {
  int64_t n = 1;
  for (const int64_t d : shape) n *= d;
  return n;
}

int64_t extent_of(std::span<const int64_t> shape, std::span<const int64_t> strides) {
  constexpr int64_t most = int64_t{1} << 62;
  int64_t last = 0;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 0) return 0;
    int64_t step = 0;
    if (shape[d] > 1 && (__builtin_mul_overflow(shape[d] - 1, strides[d], &step) ||
                         __builtin_add_overflow(last, step, &last)))
      last = most;
    last = std::min(last, most);
  }
  return std::min(last + 1, most);
}

Layout Layout::contiguous(std::vector<int64_t> shape) {
  auto strides = row_major(shape);
  return {std::move(shape), std::move(strides), 0};
}

bool Layout::is_contiguous() const {
  if (offset != 0) return false;
  int64_t step = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    if (shape[d] != 1 && strides[d] != step) return numel() == 0;
    step *= shape[d];
  }
  return true;
}

int64_t Layout::numel() const { return numel_of(shape); }

}  // namespace cleave
