// Which loops prefetch the next row.
#include <gtest/gtest.h>

#include "emit/c_source.h"
#include "loop/parse.h"

namespace cleave::emit {
namespace {

std::string emitted(const std::string& n, const std::string& second) {
  std::string text =
      "kernel %y(%x: f32[65536] read, %y: f32[65536] write, %z: f32[65536] write) work 65536 {\n"
      "  for p0 in 8 parallel {\n    fold over r1 in N {\n      s2 = max of %x[p0*N + r1]\n    "
      "}\n" +
      second + "  }\n}\n";
  for (size_t at; (at = text.find('N')) != text.npos;) text.replace(at, 1, n);
  return emit_c(value_or_throw(loop::parse_kernel(text, "t")), "k").text;
}

constexpr const char* sum =
    "    fold over r3 in N {\n      s4 = sum of %x[p0*N + r3] - s2\n    }\n    %y[p0] = s4\n";
constexpr const char* store =
    "    for i3 in N independent {\n      %y[p0*N + i3] = %x[p0*N + i3] - s2\n    }\n";

bool fetches(const std::string& text) { return text.find("_builtin_prefetch") != text.npos; }

TEST(RowAhead, the_last_loop_over_a_long_row_fetches_the_next) {
  const std::string text = emitted("8192", sum);
  EXPECT_NE(text.find("const int64_t p0_next = min_i64(p0 + 1, end - 1);"), text.npos) << text;
  EXPECT_NE(text.find("__builtin_prefetch(x_ + ((p0_next * 8192) + r3));"), text.npos) << text;
}

TEST(RowAhead, short_rows_and_loops_that_store_fetch_nothing) {
  EXPECT_FALSE(fetches(emitted("1024", sum)));
  EXPECT_FALSE(fetches(emitted("8192", store)));
  EXPECT_FALSE(fetches(emitted("8192", "    %y[p0] = s2\n")));  // read once
}

}  // namespace
}  // namespace cleave::emit
