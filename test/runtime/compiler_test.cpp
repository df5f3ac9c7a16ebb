// Both compilers: text that compiles runs, other text gives an error; from several threads, and
// reproducibly.
// tests: private_folder.cpp cc_compiler.cpp subprocess.cpp open_clang.cpp
// tests: clang/clang_compiler.cpp clang/front_end.cpp
#include "runtime/compiler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <thread>
#include <vector>

#include "base/poison.h"

namespace cleave::runtime {
namespace {

using Pointwise = void (*)(const float*, float*, long);

constexpr const char* text = R"(
static inline float twice(float x) { return x + x; }
void k0(const float *restrict x, float *restrict y, long n) {
  for (long i = 0; i < n; ++i) y[i] = twice(x[i]) + 1.0f;
}
void k1(const float *restrict x, float *restrict y, long n) {
  for (long i = 0; i < n; ++i) y[i] = __builtin_sqrtf(x[i]) * __builtin_floorf(x[i]);
}
extern float erff(float);
void k2(const float *restrict x, float *restrict y, long n) {
  for (long i = 0; i < n; ++i) y[i] = erff(x[i]) + __builtin_powf(x[i], 2.5f);
}
)";

class CompilerOf : public testing::TestWithParam<CompilerChoice> {
 protected:
  void SetUp() override {
    auto made = make_compiler(GetParam(), Target::here());
    if (!made.ok() && made.failure().kind == ErrorKind::unsupported)
      GTEST_SKIP() << made.failure().message;
    compiler_ = value_or_throw(std::move(made));
  }
  std::shared_ptr<Compiler> compiler_;
};

std::string compiler_name(const testing::TestParamInfo<CompilerChoice>& info) {
  return info.param == CompilerChoice::clang ? "clang" : "cc";
}
INSTANTIATE_TEST_SUITE_P(Kinds, CompilerOf,
                         testing::Values(CompilerChoice::clang, CompilerChoice::cc), compiler_name);

std::vector<float> run(const LoadedCode& code, const char* name, const std::vector<float>& x) {
  const auto kernel = reinterpret_cast<Pointwise>(code.symbol(name));
  std::vector<float> y(x.size());
  kernel(x.data(), y.data(), static_cast<long>(x.size()));
  return y;
}

std::vector<float> numbers() {
  std::vector<float> x;
  for (int i = 0; i < 103; ++i) x.push_back(static_cast<float>(i) * 0.37f);
  return x;
}

TEST_P(CompilerOf, CompilesAndRuns) {
  EXPECT_EQ(compiler_->name(), GetParam() == CompilerChoice::clang ? "clang" : "cc");
  const auto code = value_or_throw(compiler_->compile(text, "unit0"));
  ASSERT_NE(code->symbol("k0"), nullptr);
  EXPECT_EQ(code->symbol("k9"), nullptr);
  EXPECT_EQ(code->symbol("twice"), nullptr);
  const std::vector<float> x = numbers();
  const auto y0 = run(*code, "k0", x), y1 = run(*code, "k1", x), y2 = run(*code, "k2", x);
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(y0[i], x[i] + x[i] + 1.0f);
    EXPECT_EQ(y1[i], std::sqrt(x[i]) * std::floor(x[i]));
    EXPECT_EQ(y2[i], std::erf(x[i]) + std::pow(x[i], 2.5f));
  }
}

TEST_P(CompilerOf, NoMultiplyAddThatTheTextDoesNotAskFor) {
  const auto code = value_or_throw(compiler_->compile(R"(
      float apart(float a, float b, float c) { return a * b + c; }
      float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); })",
                                                      "unit"));
  using Three = float (*)(float, float, float);
  const float a = 1.0f + 0x1p-12f, c = -1.0f - 0x1p-11f;  // a * a = -c + 2^-24
  EXPECT_EQ(reinterpret_cast<Three>(code->symbol("apart"))(a, a, c), 0.0f);
  EXPECT_EQ(reinterpret_cast<Three>(code->symbol("fused"))(a, a, c), 0x1p-24f);
}

TEST_P(CompilerOf, NoFastMathematics) {
  const auto code = value_or_throw(compiler_->compile(R"(
      void k(const float *x, float *y, long n) {
        float sum = 0;
        for (long i = 0; i < n; ++i) { sum += x[i]; y[i] = sum - sum + (x[i] != x[i]); }
        y[0] = sum;
      })",
                                                      "unit"));
  const float nan = std::nanf(""), infinity = std::numeric_limits<float>::infinity();
  const auto y = run(*code, "k", {1e30f, 1.0f, -1e30f, 0x1p-140f, infinity, nan});
  EXPECT_TRUE(std::isnan(y[0]));
  EXPECT_EQ(y[1], 0.0f);
  EXPECT_TRUE(std::isnan(y[4]));
  EXPECT_TRUE(std::isnan(y[5]));
  // The sum goes from left to right: 1 is lost in 1e30, and denormal numbers aren't flushed.
  EXPECT_EQ(run(*code, "k", {1e30f, 1.0f, -1e30f, 0x1p-140f})[0], 0x1p-140f);
}

// The compiler's constant folding of log10(2.6f) differs by a unit from glibc, which interpreted
// kernels call.
TEST_P(CompilerOf, NoCallOfTheLibraryIsFolded) {
  const auto code =
      value_or_throw(compiler_->compile("extern float log10f(float);\n"
                                        "void k(const float* x, float* y, long n) {\n"
                                        "  for (long i = 0; i < n; ++i) y[i] = log10f(2.6f);\n"
                                        "}\n",
                                        "folded", TextKind::kernels));
  volatile float x = 2.6f;
  EXPECT_EQ(run(*code, "k", {0})[0], log10f(x));
}

TEST_P(CompilerOf, SyntaxErrorsAreBugsWithTheText) {
  const auto code = compiler_->compile("void good(void) {}\nint bad( { return 1; }\n", "unit7");
  ASSERT_FALSE(code.ok());
  EXPECT_EQ(code.failure().kind, ErrorKind::bug);
  EXPECT_NE(code.failure().message.find("unit7 doesn't compile"), std::string::npos);
  EXPECT_NE(code.failure().message.find("unit7.c:2:10: error:"), std::string::npos)
      << code.failure().message;
}

TEST_P(CompilerOf, MissingFunctionsAreBugsWithTheirName) {
  const auto code = compiler_->compile(
      "void nowhere_to_be_found(void);\n"
      "void k(void) { nowhere_to_be_found(); }\n",
      "unit");
  ASSERT_FALSE(code.ok());
  EXPECT_EQ(code.failure().kind, ErrorKind::bug);
  EXPECT_NE(code.failure().message.find("nowhere_to_be_found"), std::string::npos)
      << code.failure().message;
}

TEST_P(CompilerOf, HeadersAreNotThere) {
  if (GetParam() != CompilerChoice::clang) GTEST_SKIP() << "cc has those of its system";
  EXPECT_FALSE(compiler_->compile("#include <math.h>\n", "unit").ok());
}

TEST_P(CompilerOf, TwoThreadsAtOnce) {
  const std::vector<float> x = numbers();
  const auto want = run(*value_or_throw(compiler_->compile(text, "unit")), "k0", x);
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i)
    threads.emplace_back([&] {
      for (int round = 0; round < 3; ++round) {
        const auto code = compiler_->compile(text, "unit");
        ASSERT_TRUE(code.ok()) << code.failure().message;
        EXPECT_EQ(run(**code, "k0", x), want);
      }
    });
  for (std::thread& thread : threads) thread.join();
}

TEST_P(CompilerOf, EqualTextGivesEqualCode) {
  if (watches_memory && GetParam() == CompilerChoice::clang)
    GTEST_SKIP() << "watched code holds the addresses of its reports";
  // The bytes of a function, up to the next one.
  const auto bytes = [&] {
    const auto code = value_or_throw(compiler_->compile(text, "unit"));
    const auto* first = static_cast<const char*>(code->symbol("k0"));
    const auto* next = static_cast<const char*>(code->symbol("k1"));
    return next > first ? std::string(first, next) : std::string(next, first);
  };
  const std::string one = bytes();
  EXPECT_FALSE(one.empty());
  EXPECT_EQ(one, bytes());
  EXPECT_EQ(compiler_->identity(),
            value_or_throw(make_compiler(GetParam(), Target::here()))->identity());
}

TEST_P(CompilerOf, CodeOutlivesItsCompiler) {
  auto code = value_or_throw(compiler_->compile(text, "unit"));
  compiler_.reset();
  EXPECT_EQ(run(*code, "k0", {2.0f})[0], 5.0f);
}

TEST(Compiler, AutomaticPrefersClang) {
  const auto compiler = value_or_throw(make_compiler(CompilerChoice::automatic, Target::here()));
  EXPECT_EQ(compiler->name(), CLEAVE_HAVE_CLANG ? "clang" : "cc");
}

TEST(CcCompiler, LeavesNothingBehind) {
  const std::string folder =
      std::filesystem::temp_directory_path() / fmt::format("cleave_test_{}", getpid());
  std::filesystem::create_directory(folder);
  auto made = make_cc_compiler(Target::here(), cc_command(), folder);
  if (made.ok()) {
    auto code = value_or_throw((*made)->compile(text, "unit"));
    EXPECT_TRUE(std::filesystem::is_empty(folder));
    EXPECT_EQ(run(*code, "k0", {2.0f})[0], 5.0f);
    EXPECT_FALSE((*made)->compile("int x = ;", "unit").ok());
    EXPECT_TRUE(std::filesystem::is_empty(folder));
  }
  std::filesystem::remove_all(folder);
}

TEST(CcCompiler, AbsentIsUnsupported) {
  const auto made = make_cc_compiler(Target::here(), "no-such-compiler-here");
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.failure().kind, ErrorKind::unsupported);
  EXPECT_EQ(made.failure().message,
            "compiler: cc: no program no-such-compiler-here in PATH: install a C compiler");
}

TEST(CcCompiler, UnwritableFolderIsTheUsersError) {
  auto made = make_cc_compiler(Target::here(), cc_command(), "/nowhere/at/all");
  if (!made.ok()) GTEST_SKIP() << made.failure().message;
  const auto code = (*made)->compile(text, "unit");
  ASSERT_FALSE(code.ok());
  EXPECT_EQ(code.failure().kind, ErrorKind::user);
  EXPECT_EQ(code.failure().message,
            "compiler: no folder can be made in /nowhere/at/all: No such file or directory");
}

TEST(ClangCompiler, SanitizersWatchItsCode) {
  if (!watches_memory) GTEST_SKIP() << "built without AddressSanitizer";
  const auto compiler = value_or_throw(make_compiler(CompilerChoice::clang, Target::here()));
  const auto code =
      value_or_throw(compiler->compile("float at(const float* x, long i) { return x[i]; }\n"
                                       "int shifted(int x, int by) { return x << by; }\n",
                                       "watched", TextKind::kernels));
  const auto at = reinterpret_cast<float (*)(const float*, long)>(code->symbol("at"));
  const auto shifted = reinterpret_cast<int (*)(int, int)>(code->symbol("shifted"));
  const std::vector<float> x(10, 1.0f);
  EXPECT_EQ(at(x.data(), 9), 1.0f);
  EXPECT_EQ(shifted(1, 3), 8);
  EXPECT_DEATH(at(x.data(), 10), "heap-buffer-overflow");
  EXPECT_DEATH(shifted(1, 40), "shift exponent");
}

}  // namespace
}  // namespace cleave::runtime
