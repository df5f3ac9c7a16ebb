// Convolutions of the CUDA backend on a simulated device beside those of the CPU.
// tests: plain_convolution.cpp cudnn_convolution.cpp cudnn_half_convolution.cpp
// tests: depthwise_convolution.cpp
#include "backend/cuda/library_convolution.h"

#include "backend/cuda/cudnn_half_convolution.h"
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

TEST(CudaConvolution, DepthwiseOnes) {
  Random random(3);
  const auto device = simulated_device();
  for (int round = 0; round < 90; ++round) expect_as_the_cpu(depthwise_case(random), device);
}

// A bias is added before the one rounding, and no answer is taken whose bits may differ.
TEST(CudaConvolution, HalvesByGraphs) {
  ConvolutionSpec s{.dtype = DType::bf16, .large_channels = 8, .small_channels = 8};
  s.has_bias = s.channels_last = true;
  const auto device = simulated_device();
  const auto by = cuda::CudnnHalfConvolution::make(s, device->cudnn(), *device);
  ASSERT_TRUE(by.ok()) << by.failure().message;
  alignas(16) uint16_t image[8] = {0x3f80}, weight[64] = {}, bias[8] = {}, out[8] = {};
  weight[0] = 0x3b80;  // 2^-8: half of the last place of 1
  bias[0] = 0x3b80;
  std::array<void*, max_library_operands> at{};
  using At = ConvolutionOperand;
  image[1] = 0x3f80, weight[1] = 0x3f80;
  at[At::image] = image, at[At::other] = weight, at[At::bias] = bias, at[At::out] = out;
  by->run(at.data(), nullptr, nullptr);
  EXPECT_EQ(out[0], 0x3f81);  // 1 + 2^-7; rounded twice, 1
}

TEST(CudaConvolution, WhatIsRefused) {
  ConvolutionSpec s;
  s.dtype = DType::i32;
  EXPECT_FALSE(cuda::make_library(s, simulated_device()).ok());
  s.dtype = DType::f32;
  s.groups = 3;
  EXPECT_FALSE(cuda::make_library(s, simulated_device()).ok());
  s.groups = 1;
  s.channels_last = s.relu = true;
  EXPECT_FALSE(cuda::make_library(s, simulated_device()).ok());
}

}  // namespace
}  // namespace cleave::test
