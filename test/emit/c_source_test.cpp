// What the C text of a scheduled kernel says.
#include <gtest/gtest.h>

#include "emit/c_source.h"
#include "loop/parse.h"
#include "schedule/schedule.h"

namespace cleave::emit {
namespace {

std::string emitted(const std::string& n, const std::string& second) {
  std::string text =
      "kernel %y(%x: f32[65536] read, %y: f32[65536] write, %z: f32[65536] write) work 65536 {\n"
      "  for p0 in 8 parallel {\n    fold over r1 in N {\n      s2 = max of %x[p0*N + r1]\n    "
      "}\n" +
      second + "  }\n}\n";
  for (size_t at; (at = text.find('N')) != text.npos;) text.replace(at, 1, n);
  return emit_c(schedule::schedule(value_or_throw(loop::parse_kernel(text, "t"))), "k").text;
}

TEST(CSource, a_loop_prefetches_what_it_says) {
  const std::string text =
      emitted("8192", "    fold over r3 in N {\n      s4 = sum of %x[p0*N + r3] - s2\n    }\n");
  EXPECT_NE(text.find("const int64_t p0_next = min_i64(p0 + 1, end - 1);"), text.npos) << text;
  EXPECT_NE(text.find("__builtin_prefetch(x_ + ((p0_next * 8192) + r3));"), text.npos) << text;
}

// Its loops don't say how they run.
TEST(CSource, a_kernel_that_is_not_scheduled_is_refused) {
  const loop::Kernel k = value_or_throw(loop::parse_kernel("kernel %y() {\n}\n", "t"));
  EXPECT_THROW(emit_c(k, "k"), Error);
}

}  // namespace
}  // namespace cleave::emit
