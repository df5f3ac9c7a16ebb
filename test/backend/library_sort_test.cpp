// Sorts of the CUDA backend on a simulated device beside those of the CPU.
#include "backend/cuda/library_sort.h"

#include "test/backend/run_case.h"

namespace cleave::test {
namespace {

TEST(CudaSort, RandomLines) {
  Random random(1);
  const auto device = simulated_device();
  for (int round = 0; round < 100; ++round) expect_as_the_cpu(sort_case(random), device);
}

TEST(CudaSort, WhatHasNoOrderIsRefused) {
  const auto device = simulated_device();
  EXPECT_FALSE(
      cuda::make_library(SortSpec{.dtype = DType::c64, .length = 2, .count = 2}, device).ok());
  EXPECT_FALSE(cuda::make_library(SortSpec{.length = 2, .count = 3}, device).ok());
}

}  // namespace
}  // namespace cleave::test
