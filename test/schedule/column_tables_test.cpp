// What of a column is computed once for several rows.
#include "schedule/column_tables.h"

#include <gtest/gtest.h>

#include "loop/parse.h"
#include "schedule/schedule.h"

namespace cleave::schedule {
namespace {

// %y[p0*40 + j1] of `rows` rows: `body`, in which p0 is the row and j1 the column.
std::string scheduled(int64_t rows, const std::string& body, int64_t columns = 40) {
  const std::string text = fmt::format(
      "kernel %y(%x: f32[{0}] read, %y: f32[{0}] write) work {0} {{\n"
      "  for p0 in {1} parallel {{\n    for j1 in {2} independent {{\n{3}    }}\n  }}\n}}\n",
      rows * columns, rows, columns, body);
  return print(schedule(value_or_throw(loop::parse_kernel(text, "t"))));
}

constexpr const char* of_column =
    "      let s2 = exp(f32(j1))\n      let t3 = s2 + 1.0\n"
    "      %y[p0*40 + j1] = %x[p0*40 + j1] * t3 + s2\n";

bool has_table(const std::string& text) { return text.find("local") != text.npos; }

TEST(ColumnTables, a_function_of_the_column_is_kept_for_16_rows) {
  EXPECT_EQ(scheduled(1024, of_column),
            "kernel %y(%x: f32[40960] read, %y: f32[40960] write, %s2: f32[40] local) work 40960 "
            "scheduled {\n"
            "  for p0_group in 64 parallel {\n"
            "    for j1 in 32 independent by 16 {\n"
            "      let s2 = exp(f32(j1))\n"
            "      let t3 = s2 + 1.0\n"
            "      %s2[j1] = s2\n"
            "    }\n"
            "    for j1 in 8 independent by 16 tail {\n"
            "      let s2 = exp(f32(j1 + 32))\n"
            "      let t3 = s2 + 1.0\n"
            "      %s2[j1 + 32] = s2\n"
            "    }\n"
            "    for r in 16 {\n"
            "      let p0 = p0_group*16 + r\n"
            "      for j1 in 32 independent by 16 {\n"
            "        let s2 = %s2[j1]\n"
            "        let t3 = s2 + 1.0\n"
            "        %y[p0*40 + j1] = %x[p0*40 + j1]*t3 + s2\n"
            "      }\n"
            "      for j1 in 8 independent by 16 tail {\n"
            "        let s2 = %s2[j1 + 32]\n"
            "        let t3 = s2 + 1.0\n"
            "        %y[p0*40 + (j1 + 32)] = %x[p0*40 + (j1 + 32)]*t3 + s2\n"
            "      }\n"
            "    }\n"
            "  }\n"
            "}\n");
}

TEST(ColumnTables, the_last_rows_may_be_fewer) {
  const std::string text = scheduled(1030, of_column);
  EXPECT_NE(text.find("for p0_group in 65 parallel"), text.npos) << text;
  EXPECT_NE(text.find("for r in min(1030 - p0_group*16, 16)"), text.npos) << text;
}

TEST(ColumnTables, equal_values_are_one) {
  const std::string text = scheduled(1024,
                                     "      let a2 = exp(f32(j1))\n      let b3 = exp(f32(j1))\n"
                                     "      %y[p0*40 + j1] = %x[p0*40 + j1] * a2 + b3\n");
  EXPECT_TRUE(has_table(text));
  EXPECT_EQ(text.find("b3"), text.npos) << text;
}

TEST(ColumnTables, nothing_is_kept_that_is_short_or_of_the_row_or_for_few_rows) {
  EXPECT_FALSE(has_table(scheduled(1008, of_column)));
  for (const char* body :
       {"      let s2 = f32(j1) + 1.0\n      %y[p0*40 + j1] = %x[p0*40 + j1] * s2\n",
        "      let s2 = exp(f32(p0))\n      %y[p0*40 + j1] = %x[p0*40 + j1] * s2\n",
        "      let s2 = exp(f32(p0 + j1))\n      %y[p0*40 + j1] = %x[p0*40 + j1] * s2\n",
        "      let s2 = exp(%x[j1])\n      %y[p0*40 + j1] = s2\n"})
    EXPECT_FALSE(has_table(scheduled(1024, body))) << body;
}

// Local buffers are on the stack.
TEST(ColumnTables, nothing_is_kept_of_more_columns_than_fit) {
  EXPECT_TRUE(has_table(scheduled(1024, of_column, 8192)));
  EXPECT_FALSE(has_table(scheduled(1024, of_column, 8193)));
}

}  // namespace
}  // namespace cleave::schedule
