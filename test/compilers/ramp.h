// f32 tensors with elements that differ.
#pragma once
#include "cleave/host_tensor.h"

namespace cleave::test {

// from, from + 1/8, from + 2/8, ..., 17 of them again and again.
inline HostTensor ramp(std::vector<int64_t> shape, double from = -0.5) {
  HostTensor t(DType::f32, std::move(shape));
  for (int64_t k = 0; k < t.numel(); ++k)
    t.set_number(k, from + 0.125 * static_cast<double>(k % 17));
  return t;
}

}  // namespace cleave::test
