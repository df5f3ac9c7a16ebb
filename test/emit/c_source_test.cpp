// What the C text of a scheduled kernel says, and which loops prefetch the next row.
#include <gtest/gtest.h>

#include "emit/c_source.h"
#include "loop/parse.h"
#include "test/schedule/long_row.h"

namespace cleave::emit {
namespace {

TEST(CSource, a_loop_prefetches_what_it_says) {
  const loop::Kernel k = test::long_row(
      "8192", "    fold over r3 in N {\n      s4 = sum of %x[p0*N + r3] - s2\n    }\n");
  const std::string text = emit_c(k, "k").text;
  EXPECT_NE(text.find("const int64_t p0_next = min_i64(p0 + 1, end - 1);"), text.npos) << text;
  EXPECT_NE(text.find("__builtin_prefetch(x_ + ((p0_next * 8192) + r3));"), text.npos) << text;
}

// Numbers that calls pass, with up to six of their values; only in the phase that uses them.
TEST(CSource, a_phase_declares_the_scalars_that_it_uses) {
  const auto k = value_or_throw(loop::parse_kernel(
      "kernel %y(%x: f32[64] read, %y: f32[64] write, stream: scalar, n: scalar (256, -64), "
      "m: scalar (8, 16), f: f32 scalar (2048.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6)) scheduled {\n"
      "  for p in 64 parallel {\n    %y[p*n] = %x[truncdiv(p, m)]*f\n  }\n"
      "  for p in 64 parallel {\n    %y[truncdiv(p, n)] = %x[stream]\n  }\n"
      "}\n",
      "t"));
  const std::string text = emit_c(k, "k").text;
  const size_t second = text.find("int64_t k_1(");
  const auto stands = [&](const std::string& line, size_t phase) {
    const size_t at = text.find("  " + line + "\n");
    return at != text.npos && (at > second) == (phase == 1) &&
           (phase == 1 || line.find(" n ") != line.npos || text.find(line, second) == text.npos);
  };
  EXPECT_TRUE(stands("const int64_t n = scalar[1];  // 256, -64", 0)) << text;
  EXPECT_TRUE(stands("const int64_t m = scalar[2];  // 8, 16", 0)) << text;
  EXPECT_TRUE(
      stands("const float f = bits_f32((uint32_t)scalar[3]);  // 2048.0f, 0.1f, 0.2f, "
             "0.3f, 0.4f, 0.5f, ...",
             0))
      << text;
  EXPECT_TRUE(stands("const int64_t stream = scalar[0];", 1)) << text;
  EXPECT_NE(text.find("x_[(p / m)]"), text.npos) << text;
  EXPECT_NE(text.find("truncdiv_i64(p, n)"), text.npos) << text;  // it may be negative
}

// Its loops don't say how they run.
TEST(CSource, a_kernel_that_is_not_scheduled_is_refused) {
  const loop::Kernel k = value_or_throw(loop::parse_kernel("kernel %y() {\n}\n", "t"));
  EXPECT_THROW(emit_c(k, "k"), Error);
}

}  // namespace
}  // namespace cleave::emit
