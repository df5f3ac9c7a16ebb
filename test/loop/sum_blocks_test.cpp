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
  EXPECT_EQ(cut(fold({1024})), "whole");
  EXPECT_EQ(cut(fold({1025})), "0 of 1024");
  EXPECT_EQ(cut(fold({64, 16})), "whole");
  EXPECT_EQ(cut(fold({65, 16})), "0 of 64");
  EXPECT_EQ(cut(fold({500, 100})), "0 of 9");
  EXPECT_EQ(cut(fold({500, 1000})), "0 of 1");
  EXPECT_EQ(cut(fold({500, 2000})), "1 of 1024");
  EXPECT_EQ(cut(fold({8, 500, 100})), "1 of 9");
}

TEST(SumBlocks, in_plain_order) {
  EXPECT_EQ(cut(fold({128}), true), "whole");
  EXPECT_EQ(cut(fold({129}), true), "0 of 128");
  EXPECT_EQ(cut(fold({100, 9}), true), "0 of 14");
  EXPECT_TRUE(is_short(fold({100, 15})));
  EXPECT_FALSE(is_short(fold({15, 16})));
}

TEST(SumBlocks, computed_extents_count_as_the_most_they_can_be) {
  const Expr n = make_var(9, "n", DType::i64);
  const Expr at_most = binary(Op::max, binary(Op::min, n, Expr(100)), Expr(0));
  EXPECT_EQ(cut(fold({n})), "0 of 1024");
  EXPECT_EQ(cut(fold({at_most})), "whole");
  EXPECT_EQ(cut(fold({at_most, 16})), "0 of 64");
  EXPECT_EQ(cut(fold({0, 16})), "whole");
}

TEST(SumBlocks, what_rounds_alone) {
  EXPECT_EQ(cut(fold({5000}, ReduceOp::prod)), "0 of 1024");
  EXPECT_EQ(cut(fold({5000}, ReduceOp::sum, DType::f64)), "0 of 1024");
  EXPECT_EQ(cut(fold({5000}, ReduceOp::max)), "whole");
  EXPECT_EQ(cut(fold({5000}, ReduceOp::sum, DType::i64)), "whole");
  Reduce both = fold({5000}, ReduceOp::max);
  both.folds.push_back(fold({5000}).folds[0]);
  EXPECT_EQ(cut(both), "0 of 1024");
}

}  // namespace
}  // namespace cleave::loop
