// What is read at an index that may be out of range is read behind the check, though it depends on
// outer loops alone.
// tests: group_values.cpp
#include <gtest/gtest.h>

#include "lower/lower_graph.h"
#include "test/prepared.h"

namespace cleave {
namespace {

TEST(CheckedReads, stand_behind_the_check) {
  Graph g = test::parsed(
      "graph @g(%x: input f64[3,2], %b: input i64[3], %i: input i64[7]) {\n"
      "  %c = clamp(%b; min=1)\n  %d = _to_copy(%c; dtype=f64)\n  %u = unsqueeze(%d; dim=1)\n"
      "  %q = div(%x, %u)\n  %j = sub(%i; other=1)\n"
      "  %y = index_select(%q, %j; dim=0)\n  return %y\n}\n");
  value_or_throw(test::prepare(g, true));
  const LoweredProgram program = value_or_throw(lower_graph(g));
  ASSERT_EQ(program.kernels.size(), 1u);
  const std::string text = loop::print(program.kernels[0]);
  const size_t body = text.find("parallel");
  ASSERT_NE(text.find("check", body), std::string::npos) << text;
  ASSERT_NE(text.find("%b[", body), std::string::npos) << text;
  EXPECT_LT(text.find("check", body), text.find("%b[", body)) << text;
  EXPECT_LT(text.find("check", body), text.find("%x[", body)) << text;
}

// The place in a row of windows is below 16: of the four dims behind it only two need a division.
TEST(CheckedReads, are_in_range_for_the_views_behind_them) {
  Graph g = test::parsed(
      "graph @g(%x: input f32[2,4,4,8], %i: input i64[5]) {\n"
      "  %s = sin(%x)\n  %p = permute(%s; dims=[0,2,1,3])\n  %c = clone(%p)\n"
      "  %v = view(%c; size=[2,16,8])\n  %y = index_select(%v, %i; dim=1)\n  return %y\n}\n");
  value_or_throw(test::prepare(g, true));
  const LoweredProgram program = value_or_throw(lower_graph(g));
  ASSERT_EQ(program.kernels.size(), 1u);
  const std::string text = loop::print(program.kernels[0]);
  const size_t load = text.find("%x[");
  ASSERT_NE(load, std::string::npos) << text;
  EXPECT_EQ(text.find("truncmod(truncdiv("), std::string::npos) << text;
}

}  // namespace
}  // namespace cleave
