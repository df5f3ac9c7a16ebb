// Convolutions of the CUDA backend on a simulated device beside those of the CPU.
// tests: plain_convolution.cpp cudnn_convolution.cpp
#include "backend/cuda/library_convolution.h"

#include "test/backend/run_case.h"
#include "test/backend/simulated_cudnn.h"

namespace cleave::test {
namespace {

TEST(CudaConvolution, RandomShapesByCudnn) {
  Random random(1);
  const int64_t before = simulated_cudnn_runs();
  const auto device = simulated_device();
  for (int round = 0; round < 300; ++round) expect_as_the_cpu(convolution_case(random), device);
  EXPECT_GT(simulated_cudnn_runs(), before + 40);
}

TEST(CudaConvolution, RandomShapesByOurKernels) {
  Random random(2);
  const auto device = simulated_device(false);
  for (int round = 0; round < 150; ++round) expect_as_the_cpu(convolution_case(random), device);
}

TEST(CudaConvolution, WhatIsRefused) {
  ConvolutionSpec s;
  s.dtype = DType::i32;
  EXPECT_FALSE(cuda::make_library(s, simulated_device()).ok());
  s.dtype = DType::f32;
  s.groups = 3;
  EXPECT_FALSE(cuda::make_library(s, simulated_device()).ok());
}

}  // namespace
}  // namespace cleave::test
