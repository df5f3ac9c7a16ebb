// Quotients that the lanes of a vector share: which are written so, and that no value changes.
#include "schedule/whole_vectors.h"

#include <gtest/gtest.h>

#include "loop/parse.h"
#include "schedule/lane_strides.h"
#include "schedule/schedule.h"

namespace cleave::schedule {
namespace {

std::string text_of(const std::string& loop) {
  const std::string text =
      "kernel %y(%x: f32[65536] read, %w: f32[65536] read, %y: f32[65536] write) {\n"
      "  for p in 8 parallel {\n    let first = p*8192\n" +
      loop + "  }\n}\n";
  return print(schedule(value_or_throw(loop::parse_kernel(text, "t"))));
}

std::string of_fold(const std::string& index) {
  return text_of("    fold over r in 8192 {\n      s = sum of %x[first + r]*%w[" + index +
                 "]\n    }\n    %y[p] = s\n");
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

TEST(WholeVectors, share_quotients_of_multiples) {
  for (const char* index :
       {"truncdiv(first + r, 16384)", "truncdiv(r, 48)", "truncdiv(p*32 + r, 16)",
        "truncmod(first + r, 1024)", "floordiv(r + first, 64)"}) {
    const std::string text = of_fold(index);
    EXPECT_TRUE(has(text, "bit_and(r, -16)")) << text;
    EXPECT_TRUE(has(text, " by 16 {")) << text;
  }
}

TEST(WholeVectors, leave_other_quotients) {
  for (const char* index : {"truncdiv(first + r, 24)", "truncdiv(p*8 + r, 64)", "truncdiv(r*2, 64)",
                            "truncdiv(p + r, 64)", "truncmod(r + 8, 64)"}) {
    const std::string text = of_fold(index);
    EXPECT_FALSE(has(text, "bit_and")) << text;
    EXPECT_FALSE(has(text, " by 16 {")) << text;
  }
}

// A thread's piece of a parallel loop may begin anywhere, and columns come 64 at once.
TEST(WholeVectors, leave_loops_whose_vectors_begin_elsewhere) {
  const std::string parallel = print(schedule(value_or_throw(
      loop::parse_kernel("kernel %y(%x: f32[64] read, %y: f32[65536] write) {\n"
                         "  for p in 65536 parallel {\n    %y[p] = %x[truncdiv(p, 1024)]\n  }\n}\n",
                         "t"))));
  EXPECT_FALSE(has(parallel, "bit_and")) << parallel;
  const std::string columns =
      text_of("    for c in 64 lanes {\n      %y[first + c] = %x[truncdiv(c, 16)]\n    }\n");
  EXPECT_FALSE(has(columns, "bit_and")) << columns;
}

TEST(WholeVectors, are_known_to_strides_of_such_lanes_alone) {
  const loop::Expr r = loop::make_var(1, "r", DType::i64), q = loop::make_var(2, "q", DType::i64);
  const loop::Expr first = binary(loop::Op::bit_and, r, loop::Expr(-16));
  LaneStrides whole, any;
  whole.set_lane(r);
  any.set(r, 1);
  EXPECT_EQ(whole.of(binary(loop::Op::truncdiv, first + q, loop::Expr(32))), LaneStride(0));
  EXPECT_EQ(whole.of(r - first), LaneStride(1));
  EXPECT_EQ(whole.of(binary(loop::Op::bit_and, r, loop::Expr(-8))), LaneStride());
  EXPECT_EQ(any.of(first), LaneStride());
}

}  // namespace
}  // namespace cleave::schedule
