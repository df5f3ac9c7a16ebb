// The work of groups in flops: functions that calls share count once.
#include "lower/fuse_work.h"

#include <gtest/gtest.h>

#include "test/lower/lowered.h"

namespace cleave {
namespace {

// Per element, of all calls in one kernel.
int64_t flops_of(const std::string& calls) {
  const Graph g =
      test::decomposed("graph @g(%x: input f32[10,10], %w: input f32[10,10]) {\n" + calls + "}\n");
  return SharedFunctions(g, g.order()).flops() / 100;
}

TEST(FuseWork, a_function_counts_once) {
  const int64_t gelu = flops_of("  %a = gelu(%x)\n  return %a\n");
  const int64_t slope = flops_of("  %b = gelu_backward(%w, %x)\n  return %b\n");
  EXPECT_EQ(flops_of("  %a = gelu(%x)\n  %b = gelu_backward(%w, %x)\n  return %a, %b\n"),
            slope + 4);
  EXPECT_EQ(flops_of("  %b = gelu_backward(%w, %x)\n  %a = gelu(%x)\n  return %a, %b\n"),
            slope + 4);
  EXPECT_EQ(flops_of("  %a = gelu(%w)\n  %b = gelu_backward(%w, %x)\n  return %a, %b\n"),
            slope + gelu);
}

TEST(FuseWork, what_computes_no_function_shares_none) {
  EXPECT_EQ(flops_of("  %a = add(%x, %w)\n  %b = add(%x, %w)\n  return %a, %b\n"), 2);
}

TEST(FuseWork, bytes_and_starts) {
  const Graph g = test::decomposed(
      "graph @g(%x: input f32[100,100]) {\n"
      "  %s = slice(%x; start=0, end=50)\n  %a = sin(%s)\n  return %a\n}\n");
  const FuseCosts costs = FuseCosts::of({});
  const FuseCalls calls = describe_calls(g, costs);
  // 5000 sines of 10 flops; as many elements read and written.
  FuseKnown known;
  EXPECT_EQ(work_of(g, calls, group_calls(g, calls, costs), costs, known),
            50'000 + costs.launch_flops + 40'000 * costs.flops_of_8_bytes / 8);
}

}  // namespace
}  // namespace cleave
