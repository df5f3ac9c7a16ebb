// Attention of the CUDA backend on a simulated device beside that of the CPU.
// tests: plain_attention.cpp cudnn_attention.cpp cudnn_graph.cpp
#include "backend/cuda/library_attention.h"

#include <set>

#include "backend/cuda/cudnn_attention.h"
#include "backend/cuda/cudnn_function.h"
#include "backend/cuda/plain_attention.h"
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

// Where several blocks add to it as they come.
TEST(CudaAttention, RandomGradientsInAnyOrder) {
  Random random(4);
  const int64_t before = simulated_cudnn_runs();
  const auto device = simulated_device();
  for (int round = 0; round < 40; ++round) {
    const LibraryCase c = attention_gradient_case(random);
    const LibraryFunctionPtr function =
        value_or_throw(cuda::make_library(c.spec, device, {}, false));
    ASSERT_EQ(difference(c, run_case(c, *function), expected(c)), "");
  }
  EXPECT_GT(simulated_cudnn_runs(), before + 3);
}

// What a plan computes of the batches and heads, where all scores at once would take too much.
TEST(CudaAttention, PartsOfGradients) {
  Random random(5);
  const auto device = simulated_device();
  std::set<std::pair<bool, bool>> split;  // batches, heads
  int in_groups = 0;
  for (int round = 0; round < 400; ++round) {
    const LibraryCase c = attention_gradient_case(random);
    const auto& s = std::get<AttentionBackwardSpec>(c.spec);
    if (!cuda::CudnnAttentionGradient::takes(s)) continue;
    const AttentionSpec& f = s.forward;
    const int64_t head_bytes = 2 * ((f.rows + 63) / 64 * 64) * ((f.columns + 127) / 128 * 128);
    for (const int64_t heads : {int64_t{0}, f.key_group, f.heads, f.batch * f.heads}) {
      cuda::CudnnGradientSpec by{s};
      by.most_score_bytes = heads * head_bytes;
      const AttentionSpec part = by.part();
      EXPECT_EQ(f.batch % part.batch, 0);
      EXPECT_EQ(f.heads % part.heads, 0);
      EXPECT_EQ(part.heads % f.key_group, 0);
      EXPECT_TRUE(part == f || part.batch * part.heads * f.rows % 4 == 0);
      if (f.rows % 4 == 0) { EXPECT_LE(part.batch * part.heads, std::max(heads, f.key_group)); }
      split.emplace(part.batch < f.batch, part.heads < f.heads);
      in_groups += part.heads < f.heads && f.key_group > 1;
      using Function = cuda::CudnnFunction<cuda::CudnnGradientSpec, cuda::CudnnAttentionGradient>;
      const Function function(by, device, cuda::plain_scratch_bytes(s));
      ASSERT_EQ(difference(c, run_case(c, function), expected(c)), "") << heads;
    }
  }
  EXPECT_GE(split.size(), 3u);
  EXPECT_GT(in_groups, 0);
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
