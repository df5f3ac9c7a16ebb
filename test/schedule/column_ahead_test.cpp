// Folds over rows, in a loop over columns, that fetch later rows.
#include <gtest/gtest.h>

#include "loop/parse.h"
#include "schedule/schedule.h"

namespace cleave::schedule {
namespace {

// The sums of 64 blocks of 64 columns over 32 rows: of `value`, after the statement `stored`.
std::string scheduled(const std::string& stored, const std::string& value) {
  const std::string text =
      "kernel %k(%x: f32[131072] read, %y: f32[131072] write, %s: f32[4096] write) {\n"
      "  for p0 in 64 parallel {\n    for i1 in 64 lanes {\n      fold over r2 in 32 {\n" +
      stored + "\n        s3 = sum of " + value +
      "\n      }\n      %s[p0*64 + i1] = s3\n    }\n  }\n}\n";
  return print(schedule(value_or_throw(loop::parse_kernel(text, "t"))));
}

TEST(ColumnAhead, what_is_read_and_stored_four_rows_on_is_fetched) {
  const std::string text =
      scheduled("%y[r2*4096 + p0*64 + i1] = %x[r2*4096 + p0*64 + i1]", "%x[r2*4096 + p0*64 + i1]");
  EXPECT_NE(text.find("ordered ahead %x[(r2 + 4)*4096 + p0*64 + i1], "
                      "%y[(r2 + 4)*4096 + p0*64 + i1] {"),
            text.npos)
      << text;
}

// Rows of 1 KiB and more, whatever a number takes.
TEST(ColumnAhead, rows_count_by_their_bytes) {
  struct Numbers {
    const char *type, *sum;
    int least;  // of a row
  };
  for (const Numbers& of : {Numbers{"f64", "f64", 128}, Numbers{"f32", "f32", 256},
                            Numbers{"bf16", "f32", 512}, Numbers{"i8", "i32", 1024}})
    for (const int columns : {of.least - 1, of.least}) {
      const std::string text = fmt::format(
          "kernel %k(%x: {}[131072] read, %s: {}[64] write) {{\n"
          "  for p0 in 1 parallel {{\n    for i1 in 64 lanes {{\n"
          "      fold over r2 in 32 {{\n        s3 = sum of %x[r2*{} + i1]\n      }}\n"
          "      %s[i1] = s3\n    }}\n  }}\n}}\n",
          of.type, of.sum, columns);
      const std::string how = print(schedule(value_or_throw(loop::parse_kernel(text, "t"))));
      EXPECT_EQ(how.find(" ahead ") != how.npos, columns == of.least) << how;
    }
}

TEST(ColumnAhead, short_rows_and_what_all_rows_read_are_not) {
  for (const std::string& text :
       {scheduled("", "%x[r2*128 + p0*64 + i1]"), scheduled("", "%x[p0*64 + i1]")})
    EXPECT_EQ(text.find(" ahead "), text.npos) << text;
}

}  // namespace
}  // namespace cleave::schedule
