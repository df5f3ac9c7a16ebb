// Kernels of random graphs as threads of a GPU (make fuzz-cuda runs more of them).
#include <gtest/gtest.h>

#include "backend/cuda/nvrtc.h"
#include "op/registry.h"
#include "simt/cuda_prelude.h"
#include "simt/cuda_text.h"
#include "simt/map_threads.h"
#include "test/sample/check_threads.h"
#include "test/simt/threads.h"

namespace cleave::random {
namespace {

TEST(RandomKernels, as_threads_are_what_they_are_as_bytecode) {
  const OpRegistry ops = value_or_throw(core_ops());
  int64_t kernels = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const ThreadsVerdict v = value_or_throw(check_threads(ops, seed));
    EXPECT_EQ(v.wrong, "") << "seed " << seed << "\n" << v.text;
    kernels += v.kernels;
  }
  EXPECT_GT(kernels, 100);
}

// The order of a sum shows in a sine of it that turns a million times.
TEST(RandomKernels, what_rounding_decides_is_left_open) {
  const auto checked = [](const char* factor) {
    return check_threads({simt::test::loops(fmt::format(
                             "kernel %y(%x: f32[6000] read, %y: f32[6] write) work 6000 {{\n"
                             "  for p in 6 parallel {{\n    fold over r in 1000 {{\n"
                             "      s = sum of %x[p*1000 + r]\n    }}\n"
                             "    %y[p] = sin(s*{})\n  }}\n}}\n",
                             factor))},
                         5);
  };
  EXPECT_EQ(checked("1.0").left_open, 0);
  EXPECT_EQ(checked("1.0").wrong, "");
  EXPECT_GT(checked("1000000.0").left_open, 0);
  EXPECT_EQ(checked("1000000.0").wrong, "");
}

TEST(RandomKernels, compile_where_nvrtc_is) {
  const auto compiler = cuda::Nvrtc::here();
  if (!compiler.ok()) GTEST_SKIP() << compiler.failure().message;
  const OpRegistry ops = value_or_throw(core_ops());
  const simt::MapSizes as_large = {.many_blocks = 1, .medium = 4, .large = 64};
  for (uint64_t seed = 0; seed < 4; ++seed) {
    std::string text;
    size_t number = 0;
    for (const loop::Kernel& k : value_or_throw(kernels_of_seed(ops, seed)))
      for (const simt::MapSizes& sizes : {simt::MapSizes(), as_large})
        text +=
            simt::cuda_text(simt::map_threads(k, sizes), fmt::format("k{}", number++), true).text;
    const auto code = (*compiler)->compile(simt::cuda_prelude_for(text) + text, 90, "random");
    EXPECT_TRUE(code.ok()) << "seed " << seed << "\n" << code.failure().message;
  }
}

}  // namespace
}  // namespace cleave::random
