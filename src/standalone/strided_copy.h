// Copies between tensors of one shape that lie by other strides, in elements.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "cleave/dtype.h"

namespace cleave::standalone {

struct Strided {
  void* data = nullptr;
  std::span<const int64_t> strides;
};

// Allocates nothing. No element of `to` lies where another one does.
void copy_strided(Strided to, Strided from, std::span<const int64_t> shape, DType dtype);

// Whether elements lie one behind the other; dims of one element have any stride.
bool is_dense(std::span<const int64_t> shape, std::span<const int64_t> strides);

}  // namespace cleave::standalone
