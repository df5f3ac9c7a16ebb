// Which loops fetch the next row.
#include <gtest/gtest.h>

#include "test/schedule/long_row.h"

namespace cleave::schedule {
namespace {

std::string scheduled(const std::string& n, const std::string& second) {
  return print(test::long_row(n, second));
}

constexpr const char* sum =
    "    fold over r3 in N {\n      s4 = sum of %x[p0*N + r3] - s2\n    }\n    %y[p0] = s4\n";
constexpr const char* store =
    "    for i3 in N independent {\n      %y[p0*N + i3] = %x[p0*N + i3] - s2\n    }\n";

bool fetches(const std::string& text) { return text.find(" ahead ") != text.npos; }

TEST(RowAhead, the_last_loop_over_a_long_row_fetches_the_next) {
  const std::string text = scheduled("8192", sum);
  EXPECT_NE(text.find("for p0 in 8 parallel next p0_next {"), text.npos) << text;
  EXPECT_NE(text.find("fold over r3 in 8192 blocks 128 by 16 ahead %x[p0_next*8192 + r3] {"),
            text.npos)
      << text;
}

TEST(RowAhead, short_rows_and_loops_that_store_fetch_nothing) {
  for (const std::string& text : {scheduled("1024", sum), scheduled("8192", store),
                                  scheduled("8192", "    %y[p0] = s2\n")}) {  // read once
    EXPECT_FALSE(fetches(text)) << text;
    EXPECT_EQ(text.find("_next"), text.npos) << text;
  }
}

}  // namespace
}  // namespace cleave::schedule
