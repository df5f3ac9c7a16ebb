// Values that wait in a buffer of their own for a later pass over a row.
// tests: group_kept.cpp group_plain.cpp
#include <gtest/gtest.h>

#include <algorithm>

#include "lower/fuse.h"
#include "test/lower/lowered.h"

namespace cleave {
namespace {

LoweredProgram fused(const std::string& text) {
  Graph g = test::decomposed(text);
  value_or_throw(fuse_calls(g, test::core(), MachineRates{}));
  return value_or_throw(lower_graph(g));
}

// One row is the whole tensor, so that the buffer's elements have the numbers of the result's.
TEST(GroupKept, a_waiting_value_is_no_operand_that_a_result_may_lie_over) {
  const LoweredProgram p = fused(
      "graph @g(%x: input f64[1535]) {\n  %t = tanh(%x)\n  %m = mul(%t, %t)\n"
      "  %n = linalg_vector_norm(%m; dim=[0], keepdim=true)\n  %s = sub(%m, %n)\n"
      "  %y = _log_softmax(%s; dim=0, half_to_float=false)\n  return %y\n}\n");
  ASSERT_EQ(p.steps.size(), 1u);
  const auto& buffers = p.kernels[0].buffers;
  EXPECT_TRUE(std::ranges::any_of(
      buffers, [](const loop::Buffer& b) { return b.access == loop::Access::local; }));
  for (const auto& [operand, result] : std::get<KernelCall>(p.steps[0].work).in_place) {
    EXPECT_LT(operand, p.storages.size());
    EXPECT_EQ(p.storages[operand].name, "x");
    EXPECT_EQ(p.storages[result].name, "y");
  }
}

}  // namespace
}  // namespace cleave
