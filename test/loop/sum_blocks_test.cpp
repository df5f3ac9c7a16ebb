// Which loop of a fold is cut, and after how many iterations.
#include "loop/sum_blocks.h"

#include <gtest/gtest.h>

namespace cleave::loop {
namespace {

Reduce fold(const Exprs& extents, ReduceOp op = ReduceOp::sum, DType type = DType::f32) {
  Reduce r;
  int64_t id = 0;
  for (const Expr& e : extents) r.loops.push_back({make_var(id++, "j", DType::i64), e});
  r.folds = {{op, make_var(id, "s", type), constant_int(type, 1)}};
  return r;
}

// "loop of iterations", or "whole".
std::string cut(const Reduce& r, bool in_order = false) {
  const std::optional<SumBlocks> b = sum_blocks(r, in_order);
  return b ? fmt::format("{} of {}", b->loop, b->iterations) : "whole";
}

TEST(SumBlocks, a_lane_adds_so_many_values) {
  EXPECT_EQ(cut(fold({256})), "whole");
  EXPECT_EQ(cut(fold({257})), "0 of 128");
  EXPECT_EQ(cut(fold({16, 16})), "whole");
  EXPECT_EQ(cut(fold({17, 16})), "0 of 8");
  EXPECT_EQ(cut(fold({500, 40})), "0 of 2");
  EXPECT_EQ(cut(fold({500, 128})), "0 of 1");
  EXPECT_EQ(cut(fold({500, 2000})), "1 of 128");
  EXPECT_EQ(cut(fold({8, 500, 40})), "1 of 2");
  EXPECT_EQ(cut(fold({3, 4, 32})), "0 of 1");
}

TEST(SumBlocks, in_plain_order) {
  EXPECT_EQ(cut(fold({16}), true), "whole");
  EXPECT_EQ(cut(fold({17}), true), "0 of 16");
  EXPECT_EQ(cut(fold({100, 17}), true), "1 of 16");
  EXPECT_EQ(cut(fold({100, 16}), true), "0 of 1");
  EXPECT_EQ(cut(fold({17}, ReduceOp::sum, DType::f64), true), "0 of 16");
}

// Windows: up to 64 terms stay whole.
TEST(SumBlocks, of_a_short_innermost_loop) {
  EXPECT_TRUE(is_short(fold({100, 15})));
  EXPECT_FALSE(is_short(fold({15, 16})));
  EXPECT_EQ(cut(fold({7, 9}), true), "whole");
  EXPECT_EQ(cut(fold({5, 13}), true), "0 of 1");
  EXPECT_EQ(cut(fold({100, 5}), true), "0 of 3");
}

TEST(SumBlocks, computed_extents_count_as_the_most_they_can_be) {
  const Expr n = make_var(9, "n", DType::i64);
  const Expr at_most = binary(Op::max, binary(Op::min, n, Expr(100)), Expr(0));
  EXPECT_EQ(cut(fold({n})), "0 of 128");
  EXPECT_EQ(cut(fold({at_most})), "whole");
  EXPECT_EQ(cut(fold({at_most, 16})), "0 of 8");
  EXPECT_EQ(cut(fold({0, 16})), "whole");
}

TEST(SumBlocks, what_rounds_alone) {
  EXPECT_EQ(cut(fold({5000}, ReduceOp::prod)), "0 of 128");
  EXPECT_EQ(cut(fold({5000}, ReduceOp::sum, DType::f64)), "0 of 128");
  EXPECT_EQ(cut(fold({5000}, ReduceOp::max)), "whole");
  EXPECT_EQ(cut(fold({5000}, ReduceOp::sum, DType::i64)), "whole");
  Reduce both = fold({5000}, ReduceOp::max);
  both.folds.push_back(fold({5000}).folds[0]);
  EXPECT_EQ(cut(both), "0 of 128");
}

}  // namespace
}  // namespace cleave::loop
