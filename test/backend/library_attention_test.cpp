// Attention of the CUDA backend on a simulated device beside that of the CPU.
// tests: plain_attention.cpp cudnn_attention.cpp cudnn_graph.cpp
#include "backend/cuda/library_attention.h"

#include "test/backend/run_case.h"
#include "test/backend/simulated_cudnn.h"

namespace cleave::test {
namespace {

TEST(CudaAttention, RandomForwards) {
  Random random(1);
  const int64_t before = simulated_cudnn_runs();
  const auto device = simulated_device();
  for (int round = 0; round < 60; ++round) expect_as_the_cpu(attention_case(random), device);
  EXPECT_GT(simulated_cudnn_runs(), before + 3);
}

TEST(CudaAttention, RandomGradients) {
  Random random(2);
  const int64_t before = simulated_cudnn_runs();
  const auto device = simulated_device();
  for (int round = 0; round < 60; ++round)
    expect_as_the_cpu(attention_gradient_case(random), device);
  EXPECT_GT(simulated_cudnn_runs(), before + 3);
}

TEST(CudaAttention, RandomCallsWithoutCudnn) {
  Random random(3);
  const auto device = simulated_device(false);
  for (int round = 0; round < 15; ++round) {
    expect_as_the_cpu(attention_case(random), device);
    expect_as_the_cpu(attention_gradient_case(random), device);
  }
}

TEST(CudaAttention, WhatIsRefused) {
  const auto made = cuda::make_library(AttentionSpec{.dtype = DType::f64}, simulated_device());
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.failure().kind, ErrorKind::unsupported);
}

}  // namespace
}  // namespace cleave::test
