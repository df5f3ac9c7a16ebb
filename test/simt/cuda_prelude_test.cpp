#include "simt/cuda_prelude.h"

#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "backend/cuda/nvrtc.h"
#include "loop/parse.h"
#include "loop/signature.h"
#include "simt/cuda_text.h"
#include "simt/map_threads.h"
#include "test/simt/threads.h"

namespace cleave::simt {
namespace {

size_t place_of(const std::string& text, const std::string& part) { return text.find(part); }
constexpr size_t nowhere = std::string::npos;

TEST(CudaPrelude, has_what_is_used) {
  const std::string none = cuda_prelude_for("extern \"C\" __global__ void k() {}\n");
  EXPECT_NE(place_of(none, "typedef long long int64_t;"), nowhere);
  EXPECT_EQ(place_of(none, "__forceinline__ "), none.rfind("__forceinline__ "));
  const std::string one = cuda_prelude_for("y[0] = max_f32(a, b);");
  EXPECT_NE(place_of(one, "float max_f32(float a, float b)"), nowhere);
  EXPECT_EQ(place_of(one, "min_f32"), nowhere);
  EXPECT_EQ(place_of(one, "#include"), nowhere);
}

TEST(CudaPrelude, words_are_whole) {
  EXPECT_EQ(place_of(cuda_prelude_for("my_max_f32x(a)"), "max_f32"), nowhere);
}

TEST(CudaPrelude, what_is_used_comes_before) {
  const std::string text = cuda_prelude_for("y[0] = round_bf16(x[0]);");
  const size_t load = place_of(text, "float load_bf16("),
               store = place_of(text, "uint16_t store_bf16("),
               round = place_of(text, "float round_bf16(");
  ASSERT_NE(load, nowhere);
  ASSERT_NE(store, nowhere);
  EXPECT_LT(load, round);
  EXPECT_LT(store, round);
}

// A kernel of every operation on every type that it takes, of every dtype that is stored.
std::string all_operations() {
  const std::pair<const char*, DType> computed[] = {{"f64", DType::f64},
                                                    {"f32", DType::f32},
                                                    {"i64", DType::i64},
                                                    {"i32", DType::i32},
                                                    {"bool", DType::boolean}};
  std::string header, body;
  for (const char* stored : {"f64", "f32", "bf16", "f16", "i64", "i32", "i16", "i8", "u8", "bool"})
    header += fmt::format("%{0}: {0}[64] update, ", stored);
  for (int o = static_cast<int>(loop::Op::add); o <= static_cast<int>(loop::Op::isinf); ++o)
    for (const auto& [name, type] : computed) {
      const auto op = static_cast<loop::Op>(o);
      const bool is_arithmetic = op <= loop::Op::floormod;  // which no text has of bools
      if (!takes(op, type) || (type == DType::boolean && is_arithmetic)) continue;
      const auto result = std::ranges::find(computed, result_type(op, type),
                                            &std::pair<const char*, DType>::second);
      body += fmt::format("    %{}[p] = {}(%{}[p]{})\n", result->first, name_of(op), name,
                          operand_count(op) == 2 ? fmt::format(", %{}[63 - p]", name) : "");
    }
  for (const auto& [to, type] : computed)
    for (const auto& [from, other] : computed) {
      if (type != other) body += fmt::format("    %{0}[p] = {0}(%{1}[p])\n", to, from);
      (void)other;
    }
  for (const char* half : {"bf16", "f16"})
    body += fmt::format("    %{0}[p] = round_{0}(exp(%{0}[p]))\n", half);
  for (const char* small : {"i16", "i8", "u8"})
    body += fmt::format("    %{0}[p] = %{0}[p] + %i32[p]\n", small);
  body +=
      "    %i64[p] = philox(%i64[p], %i64[0], 7, p)\n    %f32[p] = inf + -inf*nan\n"
      "    %f64[p] = f64(inf) + f64(nan)\n";
  header.resize(header.size() - 2);
  return "kernel %y(" + header + ") work 64 {\n  for p in 64 parallel {\n" + body + "  }\n}\n";
}

// Also where no NVRTC would say so.
TEST(CudaPrelude, functions_named_after_a_type_are_defined) {
  const std::string text = cuda_text(map_threads(test::loops(all_operations())), "k", true).text;
  const std::string all = cuda_prelude_for(text) + text;
  const std::regex named("\\b([a-z0-9_]+_[fiu](16|32|64))\\(");
  std::set<std::string> used;
  for (std::sregex_iterator it(all.begin(), all.end(), named), end; it != end; ++it)
    used.insert((*it)[1]);
  EXPECT_GT(used.size(), 40u);
  for (const std::string& name : used)
    EXPECT_TRUE(std::regex_search(all, std::regex("INLINE \\w+ " + name + "\\("))) << name;
}

TEST(CudaPrelude, nvrtc_knows_all_operations) {
  const auto compiler = cuda::Nvrtc::here();
  if (!compiler.ok()) GTEST_SKIP() << compiler.failure().message;
  const std::string text = cuda_text(map_threads(test::loops(all_operations())), "k", true).text;
  const auto code = (*compiler)->compile(cuda_prelude_for(text) + text, 90, "all_operations");
  EXPECT_TRUE(code.ok()) << code.failure().message;
}

// GCC's words for it are a warning of NVRTC's.
TEST(CudaPrelude, loops_are_unrolled_in_words_of_cuda) {
  const std::string text = cuda_prelude_for("philox(a, b, c, d);");
  EXPECT_EQ(place_of(text, "#pragma GCC"), nowhere);
  EXPECT_NE(place_of(text, "#pragma unroll 10"), nowhere) << text;
}

}  // namespace
}  // namespace cleave::simt
