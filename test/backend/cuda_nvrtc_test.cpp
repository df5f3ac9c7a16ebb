// CUDA C text becomes machine code where NVRTC is, which needs no GPU.
// tests: nvrtc.cpp
#include "backend/cuda/nvrtc.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

namespace cleave::cuda {
namespace {

// y = x + 1
constexpr const char* add_one = R"(
template <class T> T next(T x) { return x + T(1); }
extern "C" __global__ void add_one(const float *x, float *y, long long n, long long, long long *) {
  const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i < n) y[i] = next(x[i]);
}
)";

#define SKIP_WITHOUT_NVRTC(compiler)                                              \
  const Result<NvrtcPtr> compiler##_found = Nvrtc::here();                        \
  if (!compiler##_found.ok()) GTEST_SKIP() << compiler##_found.failure().message; \
  const NvrtcPtr compiler = *compiler##_found

bool has(const std::vector<std::byte>& code, std::string_view text) {
  return std::string_view(reinterpret_cast<const char*>(code.data()), code.size()).find(text) !=
         std::string_view::npos;
}

TEST(Nvrtc, compiles_for_several_architectures) {
  SKIP_WITHOUT_NVRTC(compiler);
  for (const int arch : {90, 100}) {
    const std::vector<std::byte> code = value_or_throw(compiler->compile(add_one, arch, "unit0"));
    EXPECT_TRUE(has(code, "\177ELF"));
    EXPECT_TRUE(has(code, "add_one"));
  }
  EXPECT_GE(compiler->version(), 12000);
  EXPECT_TRUE(std::ranges::count(compiler->archs(), 90));
  EXPECT_EQ(compiler->identity(90),
            fmt::format("nvrtc {}.{} sm_90 -fmad=false --std=c++17 -default-device{}",
                        compiler->version() / 1000, compiler->version() % 1000 / 10,
                        compiler->version() < 12040 ? "" : " -minimal"));
  EXPECT_NE(compiler->identity(90), compiler->identity(100));
}

TEST(Nvrtc, says_why_a_text_does_not_compile) {
  SKIP_WITHOUT_NVRTC(compiler);
  const auto wrong =
      compiler->compile("extern \"C\" __global__ void k() {\n  x = 1;\n}\n", 90, "unit3");
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.failure().kind, ErrorKind::bug);
  EXPECT_NE(wrong.failure().message.find("can't compile unit3:\nunit3.cu(2): error:"),
            std::string::npos)
      << wrong.failure().message;
}

TEST(Nvrtc, an_architecture_that_it_does_not_know) {
  SKIP_WITHOUT_NVRTC(compiler);
  const auto old = compiler->compile(add_one, 20, "unit0");
  ASSERT_FALSE(old.ok());
  EXPECT_EQ(old.failure().kind, ErrorKind::unsupported);
  EXPECT_NE(old.failure().message.find("doesn't compile for sm_20, but for sm_"), std::string::npos)
      << old.failure().message;
}

TEST(Nvrtc, the_package_is_named_where_it_is_missing) {
  const auto none = Nvrtc::open({.asks_system = false, .folders = {}});
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.failure().kind, ErrorKind::unsupported);
  EXPECT_EQ(none.failure().message,
            "no libnvrtc.so.13 or libnvrtc.so.12 is found; NVIDIA's compiler NVRTC is in its CUDA "
            "toolkit, and on PyPI: pip install nvidia-cuda-nvrtc");
}

}  // namespace
}  // namespace cleave::cuda
