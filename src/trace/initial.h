// Shared by the constructors of modules: size checks and initial values.
#pragma once
#include <initializer_list>
#include <vector>

#include "base/result.h"
#include "cleave/generator.h"

namespace cleave::nn {

// Throws a user error that names the module if a size is below 1.
inline void require_sizes(const char* module, std::initializer_list<int64_t> sizes) {
  constexpr int64_t largest = int64_t{1} << 47;  // of a graph; products with small numbers fit
  for (const int64_t s : sizes) {
    if (s < 1) throw_failure(user_error("nn::{}: size {} is less than 1", module, s));
    if (s > largest) throw_failure(user_error("nn::{}: size {} is beyond 2^47", module, s));
  }
}

inline HostTensor uniform(Generator& rng, std::vector<int64_t> shape, double bound, DType dtype) {
  return rng.uniform(std::move(shape), -bound, bound).to(dtype);
}

inline HostTensor filled(std::vector<int64_t> shape, double value, DType dtype) {
  HostTensor t(dtype, std::move(shape));
  for (int64_t k = 0; k < t.numel(); ++k) t.set_number(k, value);
  return t;
}

}  // namespace cleave::nn
