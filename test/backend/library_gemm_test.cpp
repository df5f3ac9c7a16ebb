// Products of the CUDA backend on a simulated device, by cuBLASLt and by the kernel of our own,
// beside those of the CPU.
// tests: gemm_plan.cpp gemm_parts.cpp cublas_product.cpp cublas_api.cpp library.cpp
// tests: tune_products.cpp
#include "backend/cuda/library_gemm.h"

#include "backend/cuda/gemm_plan.h"
#include "backend/cuda/tune_products.h"
#include "base/alignment.h"
#include "test/backend/run_case.h"

namespace cleave::test {
namespace {

TEST(CudaGemm, RandomProductsByTheLibrary) {
  Random random(1);
  const auto device = simulated_device();
  for (int round = 0; round < 600; ++round) expect_as_the_cpu(gemm_case(random), device);
}

TEST(CudaGemm, RandomProductsByOurKernel) {
  Random random(2);
  const auto device = simulated_device(false);
  for (int round = 0; round < 300; ++round) expect_as_the_cpu(gemm_case(random), device);
}

using CIn = cuda::GemmPlan::CIn;

TEST(CudaGemm, WhatTheLibraryTakesIsNotCopied) {
  GemmSpec s{.dtype = DType::bf16,
             .m = 16384,
             .n = 768,
             .k = 3072,
             .a_row = 3072,
             .b_row = 1,
             .b_col = 3072,
             .has_c_in = true,
             .c_in_row = 768};
  constexpr int64_t to_align = cuda::workspace_alignment - storage_alignment;
  auto plan = cuda::plan_gemm(s);
  ASSERT_TRUE(plan);
  EXPECT_FALSE(plan->a || plan->b);
  EXPECT_EQ(plan->c_in, CIn::direct);
  EXPECT_EQ(plan->scratch_bytes, (32 << 20) + to_align);
  s.c_in_row = 0;
  plan = cuda::plan_gemm(s);
  EXPECT_EQ(plan->c_in, CIn::bias);
  EXPECT_EQ(plan->product.beta, 0);
  s.beta = 2;  // not of a bias
  EXPECT_EQ(cuda::plan_gemm(s)->c_in, CIn::placed);
  s.b_stored = DType::f32;
  plan = cuda::plan_gemm(s);
  ASSERT_TRUE(plan->b);
  EXPECT_EQ(plan->b->dtype, DType::bf16);
  EXPECT_EQ(plan->scratch_bytes, (32 << 20) + 768 * 3072 * 2 + to_align);
}

// One function, whose algorithm is chosen by how its pointers are aligned.
TEST(CudaGemm, PointersOfAnyAlignment) {
  constexpr int64_t n = 24;
  const GemmSpec s{.m = n, .n = n, .k = n, .a_row = n, .b_row = n};
  const auto product = value_or_throw(cuda::make_library(s, simulated_device()));
  const auto pool = make_thread_pool(1);
  alignas(256) float memory[3][n * n + 64] = {};
  for (auto& matrix : memory)
    for (float& x : matrix) x = 1;
  for (const int64_t offset : {0, 4, 1, 64, 2}) {
    std::array<void*, max_library_operands> at{};
    at[GemmOperand::a] = memory[0] + offset;
    at[GemmOperand::b] = memory[1];
    at[GemmOperand::c] = memory[2];
    memory[2][n] = 0;
    product->call(at.data(), nullptr, {*pool});
    EXPECT_EQ(memory[2][n], n) << offset;
  }
}

// The first of the heuristic's answers, another one that the target names; one that there isn't is
// the first, and so is that for another product.
TEST(CudaGemm, AnswersOfTheHeuristic) {
  constexpr int64_t n = 24;
  GemmSpec s{.m = n, .n = n, .k = n, .a_row = n, .b_row = n};
  const std::string name = cuda::answer_name(cuda::plan_gemm(s)->product);
  const auto pool = make_thread_pool(1);
  alignas(256) float memory[3][n * n] = {};
  const auto taken = [&](const cuda::Answers& answers) {
    const auto product = value_or_throw(cuda::make_library(s, simulated_device(), answers));
    std::array<void*, max_library_operands> at{};
    at[GemmOperand::a] = memory[0], at[GemmOperand::b] = memory[1], at[GemmOperand::c] = memory[2];
    product->call(at.data(), nullptr, {*pool});
    return taken_answer();
  };
  EXPECT_EQ(taken({}), 0);
  EXPECT_EQ(taken({{name, 2}}), 2);
  EXPECT_EQ(taken({{name, 1}}), 1);
  EXPECT_EQ(taken({{name, simulated_answers}}), 0);
  s.m = n - 1;
  EXPECT_EQ(taken({{name, 2}}), 0);
}

TEST(CudaGemm, OddSizesInParts) {
  Random random(3);
  const auto device = simulated_device();
  constexpr cuda::GemmPartLimits all{.flops = 0, .size = 9};
  int cut = 0;
  for (int round = 0; round < 600; ++round) {
    const LibraryCase c = odd_gemm_case(random);
    const auto& spec = std::get<GemmSpec>(c.spec);
    cut += cuda::parts_of(spec, all).size() > 1;
    const auto product = value_or_throw(cuda::make_gemm(spec, device, {}, all));
    ASSERT_EQ(difference(c, run_case(c, *product), expected(c)), "") << c.text;
  }
  EXPECT_GT(cut, 500);
}

TEST(CudaGemm, PartsOfAVocabulary) {
  GemmSpec s{.dtype = DType::bf16,
             .m = 16384,
             .n = 30522,
             .k = 768,
             .a_row = 768,
             .b_row = 1,
             .b_col = 768,
             .c_batch = int64_t{16384} * 30528,
             .c_row = 30528};
  const auto parts = cuda::parts_of(s);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].spec.n, 30520);
  EXPECT_EQ(parts[1].spec.n, 2);
  EXPECT_EQ(parts[1].b, int64_t{30520} * 768);
  EXPECT_EQ(parts[1].c, 30520);
  // Lines that begin anywhere are as slow in parts.
  s.c_row = s.c_batch = 0;
  EXPECT_EQ(cuda::parts_of(s).size(), 1u);
  s.c_row = 30528, s.m = 8;
  EXPECT_EQ(cuda::parts_of(s).size(), 1u) << "little work";
}

TEST(CudaGemm, TheFastestAnswerIsTakenWhereItGainsEnough) {
  const auto fastest = [](std::vector<float> ms) { return cuda::fastest_of(ms); };
  EXPECT_EQ(fastest({}), 0);
  EXPECT_EQ(fastest({2, 1, 1.5f}), 1);
  EXPECT_EQ(fastest({1, .99f, .985f}), 0);
  EXPECT_EQ(fastest({1, .99f, .97f}), 2);
  EXPECT_EQ(fastest({1, NAN, .9f}), 2);
  EXPECT_EQ(fastest({NAN, 3, 2}), 2);
}

TEST(CudaGemm, IntegersAreNotTheLibrarys) {
  EXPECT_FALSE(cuda::plan_gemm({.dtype = DType::i32, .m = 2, .n = 2, .k = 2}));
  EXPECT_FALSE(cuda::plan_gemm({.m = 2, .n = 2, .k = 0}));
}

TEST(CudaGemm, WhatHasNoSumsIsRefused) {
  const auto made =
      cuda::make_library(GemmSpec{.dtype = DType::boolean, .m = 2}, simulated_device());
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.failure().kind, ErrorKind::unsupported);
  EXPECT_EQ(made.failure().message,
            "gemm: products of bool are not covered (src/backend/cuda/library_gemm.h)");
}

}  // namespace
}  // namespace cleave::test
