// Kernels as CUDA C: golden/NAME.loops becomes golden/NAME.cu.
#include "simt/cuda_text.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "simt/map_threads.h"
#include "test/simt/threads.h"

namespace cleave::simt {
namespace {

std::string golden_file(const std::string& name) {
  std::ifstream in(std::string(CLEAVE_SOURCE_DIR) + "/test/simt/golden/" + name);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

CudaKernel cuda_of(const std::string& loops, bool obeys_faults = false) {
  return cuda_text(map_threads(test::loops(loops)), "k", obeys_faults);
}
bool text_has(const CudaKernel& k, const std::string& part) {
  return k.text.find(part) != std::string::npos;
}

TEST(CudaText, of_kernels_that_people_read) {
  for (const std::string name : {"add", "softmax", "columns", "tile", "staged"}) {
    const std::string text = cuda_of(golden_file(name + ".loops")).text,
                      written = testing::TempDir() + name + ".cu";
    std::ofstream(written) << text;
    EXPECT_EQ(text, golden_file(name + ".cu")) << "if this is right, copy " << written;
  }
}

TEST(CudaText, how_phases_are_started) {
  const CudaKernel k = cuda_of(
      "kernel %y(%x: f32[300] read, %t: f32[300] update, %y: f32[1] write, at: scalar, other: "
      "scalar) {\n  for p in 300 parallel {\n    %t[p] = %x[p]\n  }\n"
      "  %y[0] = %t[other]\n}\n");
  ASSERT_EQ(k.phases.size(), 2u);
  EXPECT_EQ(k.phases[0].symbol, "k_0");
  EXPECT_EQ(k.phases[0].extent, 3);
  EXPECT_EQ(
      k.phases[0].launch,
      (Launch{.blocks = 3, .threads = 128, .buffers = {0, 1}, .scalars = {}, .written = {1}}));
  EXPECT_EQ(k.phases[1].symbol, "k_1");
  EXPECT_EQ(k.phases[1].launch.blocks, 1);
  EXPECT_EQ(k.phases[1].launch.buffers, (std::vector<uint32_t>{1, 2}));
  EXPECT_EQ(k.phases[1].launch.scalars, (std::vector<uint32_t>{1}));
  EXPECT_EQ(k.phases[1].launch.written, (std::vector<uint32_t>{1, 2}));
  EXPECT_TRUE(text_has(k, "k_0(const float *x_, float *t_, int64_t kernel, int64_t *fault) {"));
  EXPECT_TRUE(
      text_has(k, "k_1(float *t_, float *y_, int64_t other, int64_t kernel, int64_t *fault)"))
      << k.text;
  EXPECT_TRUE(text_has(k, "__launch_bounds__(128)"));
}

// Of rows of which a thread reads several chunks at a time a processor has room for some.
TEST(CudaText, how_many_blocks_a_processor_has_room_for) {
  const CudaKernel k = cuda_of(
      "kernel %x(%x: bf16[103022592] update) work 103022592 {\n  for p in 2048 parallel {\n"
      "    for j in 50304 independent {\n      let t = %x[p*50304 + j]\n"
      "      %x[p*50304 + j] = t + t\n    }\n  }\n}\n");
  EXPECT_TRUE(text_has(k, "__launch_bounds__(512, 2)")) << k.text;
}

TEST(CudaText, scalars_of_f32_come_as_bits) {
  const CudaKernel k =
      cuda_of("kernel %y(%y: f32[1] write, rate: f32 scalar) {\n  %y[0] = rate*2.0\n}\n");
  EXPECT_TRUE(text_has(k, "int64_t rate_bits, ")) << k.text;
  EXPECT_TRUE(text_has(k, "const float rate = bits_f32((uint32_t)rate_bits);"));
}

TEST(CudaText, buffers_of_one_name_have_others) {
  const CudaKernel k = cuda_of(
      "kernel %y(%a.b: f32[1] read, %a_b: f32[1] read, %kernel: f32[1] read, %fault: f32[1] read, "
      "%y: "
      "f32[1] write) {\n  %y[0] = %a.b[0] + %a_b[0] + (%kernel[0] + %fault[0])\n}\n");
  EXPECT_TRUE(text_has(k,
                       "(const float *a_b_, const float *a_b_1, const float *kernel_, const float "
                       "*fault_, float *y_, "))
      << k.text;
}

TEST(CudaText, checks_are_numbered_through_the_phases) {
  const std::string text =
      "kernel %y(%i: i64[9] read, %y: f32[9] write) {\n  for p in 9 parallel {\n"
      "    check lt(%i[p], 9) \"first\" index %i[p] bound 9 from 0\n    %y[p] = 1.0\n  }\n"
      "  check logical_or(lt(%i[0], 4), gt(%i[0], 5)) \"second\"\n}\n";
  const CudaKernel k = cuda_of(text);
  ASSERT_EQ(k.checks.size(), 2u);
  EXPECT_EQ(k.checks[0].message, "first");
  EXPECT_TRUE(k.checks[0].from_zero);
  EXPECT_EQ(k.checks[1].message, "second");
  EXPECT_FALSE(k.checks[1].from_zero);
  EXPECT_TRUE(text_has(k, "{ fail(fault, kernel, 1, ")) << k.text;
  EXPECT_TRUE(text_has(k, "{ fail(fault, kernel, 2, ")) << k.text;
  EXPECT_TRUE(text_has(k, ")) { fail(")) << "a condition without parentheses:\n" << k.text;
}

// What has a check of its own does nothing after one has failed; others in programs with checks.
TEST(CudaText, after_a_check_that_failed) {
  const std::string without = "kernel %y(%y: f32[1] write) {\n  %y[0] = 1.0\n}\n";
  EXPECT_FALSE(text_has(cuda_of(without),
                        "*fault)"
                        " return;"));
  EXPECT_TRUE(text_has(cuda_of(without, true), "if (*fault) return;"));
  // All threads of a block go on, or none.
  EXPECT_TRUE(text_has(cuda_of("kernel %y(%x: f32[600] read, %y: f32[1] write) {\n"
                               "  fold over r in 600 {\n    s = sum of %x[r]\n  }\n"
                               "  %y[0] = s\n}\n",
                               true),
                       "if (__syncthreads_or(*fault != 0)) return;"));
  EXPECT_TRUE(text_has(cuda_of("kernel %y(%y: f32[1] write, n: scalar) {\n  check lt(n, 3) "
                               "\"n\"\n  %y[0] = 1.0\n}\n"),
                       "if (*fault) return;"));
}

// Names of shared values aren't those of variables.
TEST(CudaText, names_are_given_once) {
  std::string value = "0.0";
  for (int k = 0; k < 9; ++k) value += fmt::format(" + exp(%x[p + {0}])*exp(%x[p + {0}])", k);
  const CudaKernel k = cuda_of(
      "kernel %y(%x: f32[137] read, %y: f32[128] write) work 128 {\n  for p in 128 parallel {\n"
      "    %y[p] = " +
      value + "\n  }\n}\n");
  std::set<std::string> names;
  std::istringstream words(k.text);
  for (std::string word, type; words >> word; type = word)
    if (type == "float" || type == "int32_t") {
      EXPECT_TRUE(names.insert(word).second) << word << " is defined twice\n" << k.text;
    }
  EXPECT_GT(names.size(), 10u);
}

// Nor are those of a thread's chunks one another's.
TEST(CudaText, names_of_chunks_are_given_once_in_a_scope) {
  const CudaKernel k = cuda_of(
      "kernel %y(%x: f32[3840] read, %y: f32[3840] write) work 3840 {\n  for p in 3 parallel {\n"
      "    fold over r in 1280 {\n      s = sum of %x[p*1280 + r]\n    }\n"
      "    for j in 1280 independent {\n      %y[p*1280 + j] = %x[p*1280 + j] - s\n    }\n  "
      "}\n}\n");
  std::vector<std::set<std::string>> scopes(1);
  std::istringstream words(k.text);
  int defined = 0;
  for (std::string word, type; words >> word; type = word) {
    if (word == "{") scopes.emplace_back();
    if (word == "}") scopes.pop_back();
    if (type != "float" && type != "int32_t") continue;
    EXPECT_TRUE(scopes.back().insert(word).second) << word << " is defined twice\n" << k.text;
    ++defined;
  }
  EXPECT_GT(defined, 15);
}

// A row that other threads read, of n numbers.
CudaKernel reversed_row(int64_t n) {
  return cuda_of(test::with(
      "kernel %y(%x: f32[N] read, %y: f32[N] write, %t: f32[N] local) work N {\n"
      "  for p in 1 parallel {\n    for i in N independent {\n      %t[i] = %x[i]\n    }\n"
      "    for j in N independent {\n      %y[j] = %t[N - 1 - j]\n    }\n  }\n}\n",
      {{"N", n}}));
}

TEST(CudaText, much_shared_memory_is_asked_for_at_the_start) {
  const CudaKernel some = reversed_row(12288), much = reversed_row(12289);
  EXPECT_TRUE(text_has(some, "__shared__ alignas(16) float t_"));
  EXPECT_EQ(some.phases[0].launch.shared_bytes, 0);
  EXPECT_TRUE(text_has(much, "extern __shared__ uint4 shared[];")) << much.text;
  EXPECT_EQ(much.phases[0].launch.shared_bytes, (12289 * 4 + 15) / 16 * 16);
}

}  // namespace
}  // namespace cleave::simt
