// Attention of the CUDA backend on a simulated device beside that of the CPU.
// tests: plain_attention.cpp cudnn_attention.cpp cudnn_graph.cpp padded_keys.cpp
#include "backend/cuda/library_attention.h"

#include <cmath>
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

// Of a cuDNN that reads past keys: gradients whose keys are no multiple of 128 are its too.
TEST(CudaAttention, RandomGradientsOfPaddedKeys) {
  Random random(6);
  const auto device = simulated_device(true, 3, SimulatedCudnn::reads_past_keys);
  int64_t padded = 0;
  for (int round = 0; round < 200; ++round) {
    const LibraryCase c = attention_gradient_case(random);
    const auto& s = std::get<AttentionBackwardSpec>(c.spec);
    if (!cuda::CudnnAttentionGradient::takes(s)) continue;
    const int64_t before = simulated_cudnn_runs();
    expect_as_the_cpu(c, device);
    EXPECT_GT(simulated_cudnn_runs(), before) << c.text;
    EXPECT_EQ(cuda::CudnnAttentionGradient::pads(s, *device->cudnn()),
              s.forward.columns % 128 != 0);
    padded += s.forward.columns % 128 != 0;
  }
  EXPECT_GT(padded, 10);
}

// What is added has no weight, however small the other scores are.
TEST(CudaAttention, PaddedKeysBesideVerySmallScores) {
  Random random(7);
  const auto device = simulated_device(true, 3, SimulatedCudnn::reads_past_keys);
  for (int round = 0; round < 200; ++round) {
    LibraryCase c = attention_gradient_case(random);
    auto& s = std::get<AttentionBackwardSpec>(c.spec);
    if (!cuda::CudnnAttentionGradient::takes(s) || s.forward.columns % 128 == 0) continue;
    if (s.forward.is_causal) continue;
    // Queries of 1 and keys of -100 in each place: scores whose exponential is 0.
    using At = AttentionOperand;
    fill(c.operands[At::query], s.forward.dtype, 1);
    fill(c.operands[At::key], s.forward.dtype, -100);
    const double score = -100.0 * static_cast<double>(s.forward.width) * s.forward.scale;
    fill(c.operands[At::logsumexp], DType::f32,
         score + std::log(static_cast<double>(s.forward.columns)));
    const auto got = run_case(c, device);
    ASSERT_EQ(difference(c, got, expected(c)), "");
    // A weight of what was added would be infinite, and its product with a key of 0 no number.
    EXPECT_TRUE(is_finite(got[At::dquery], s.forward.dtype)) << c.text;
    return;
  }
  FAIL() << "no such case";
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
