// Which of cuBLASLt's answers is the fastest on this device. The heuristic's first one is up to a
// quarter slower than the best of eight.
#pragma once
#include <span>

#include "backend/cuda/cublas_product.h"
#include "backend/cuda/device.h"

namespace cleave::cuda {

constexpr int most_answers = 8;

// Of answers that take so long, the one that is taken: the fastest, or the first one where no other
// is at least 2 % faster. NaN: it doesn't run.
int fastest_of(std::span<const float> ms);

// The number of the one that is taken of the first most_answers. On operands of random numbers of
// its own, each the least of several runs. Errors: the device has no memory for them.
Result<int> fastest_answer(const CublasProductSpec& spec,
                           const std::shared_ptr<const Cublas>& cublas,
                           const CudaDevicePtr& device);

}  // namespace cleave::cuda
