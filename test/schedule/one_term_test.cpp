#include "schedule/one_term.h"

#include <gtest/gtest.h>

#include "loop/parse.h"

namespace cleave {
namespace {

// The kernel's text after its row loop's last sum was written out.
std::string written(const std::string& sum) {
  loop::Kernel k = value_or_throw(loop::parse_kernel(
      "kernel %y(%x: f32[64] read, %t: i64[4] read, %y: f32[4] write) work 64 {\n"
      "  for p0 in 4 parallel {\n    let t1 = %t[p0]\n    fold over r2 in 16 {\n" +
          sum + "    }\n    %y[p0] = s3\n  }\n}\n",
      "t"));
  loop::Block& row = std::get<loop::For>(k.body[0].node).body;
  const loop::Stmt store = row.back();
  row.pop_back();
  write_one_term(row);
  row.push_back(store);
  value_or_throw(loop::verify(k));
  return loop::print(k);
}

TEST(OneTerm, a_sum_of_one_class_is_no_loop) {
  const std::string y =
      written("      let v4 = select(eq(r2, t1), 2.0, 0.0)\n      s3 = sum of v4\n");
  EXPECT_EQ(y.find("fold"), std::string::npos) << y;
  EXPECT_NE(y.find("let s3 = select(logical_and(ge(t1, 0), lt(t1, 16)), "), std::string::npos) << y;
}

TEST(OneTerm, other_sums_stay) {
  for (const char* sum : {
           "      s3 = sum of select(ne(r2, t1), 2.0, 0.0)\n",          // all terms but one
           "      s3 = max of select(eq(r2, t1), 2.0, 0.0)\n",          // of zeros too
           "      s3 = sum of select(eq(r2, t1), 2.0, 1.0)\n",          // no zeros
           "      s3 = sum of select(eq(r2, t1), 2.0, -0.0)\n",         // 0.0 comes out
           "      s3 = sum of select(eq(r2, t1), %x[r2], 0.0)\n",       // a term of each index
           "      s3 = sum of select(eq(r2 + t1, t1), 2.0, 0.0)\n",     // more than the number
           "      s3 = sum of select(eq(r2, %t[r2 - 12]), 2.0, 0.0)\n"  // may be any of them
       }) {
    const std::string y = written(sum);
    EXPECT_NE(y.find("fold"), std::string::npos) << y;
  }
}

}  // namespace
}  // namespace cleave
