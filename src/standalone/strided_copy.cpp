#include "standalone/strided_copy.h"

#include <cstring>

#include "base/layout.h"

namespace cleave::standalone {
namespace {

void copy_dim(std::byte* to, const std::byte* from, std::span<const int64_t> shape,
              const int64_t* to_strides, const int64_t* from_strides, size_t bytes) {
  if (shape.empty()) {
    std::memcpy(to, from, bytes);
    return;
  }
  const auto element = static_cast<int64_t>(bytes);
  if (shape.size() == 1 && *to_strides == 1 && *from_strides == 1) {
    std::memcpy(to, from, bytes * static_cast<size_t>(shape[0]));
    return;
  }
  for (int64_t i = 0; i < shape[0]; ++i)
    copy_dim(to + i * to_strides[0] * element, from + i * from_strides[0] * element,
             shape.subspan(1), to_strides + 1, from_strides + 1, bytes);
}

}  // namespace

bool is_dense(std::span<const int64_t> shape, std::span<const int64_t> strides) {
  int64_t step = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    if (shape[d] == 0) return true;
    if (shape[d] != 1 && strides[d] != step) return false;
    step *= shape[d];
  }
  return true;
}

void copy_strided(Strided to, Strided from, std::span<const int64_t> shape, DType dtype) {
  const int64_t bytes = extent_of(shape, to.strides) * size_of(dtype);
  if (bytes == 0) return;
  if (is_dense(shape, to.strides) && is_dense(shape, from.strides)) {
    std::memcpy(to.data, from.data, static_cast<size_t>(bytes));
    return;
  }
  copy_dim(static_cast<std::byte*>(to.data), static_cast<const std::byte*>(from.data), shape,
           to.strides.data(), from.strides.data(), static_cast<size_t>(size_of(dtype)));
}

}  // namespace cleave::standalone
