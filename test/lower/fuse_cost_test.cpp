// Fusion depends on the target's rates.
#include "lower/fuse_cost.h"

#include <gtest/gtest.h>

#include "test/prepared.h"

namespace cleave {
namespace {

TEST(FuseCosts, of_the_common_table) {
  const FuseCosts c = FuseCosts::of({});
  EXPECT_EQ(c.cheap_flops, 6);
  EXPECT_EQ(c.flops_of_8_bytes, 13);
  EXPECT_EQ(c.launch_flops, 8000);
  EXPECT_EQ(c.launch_bytes, 65600);
  EXPECT_EQ(c.row_bytes, 512 << 10);
}

// How many values the kernels store.
size_t stored_with(const MachineRates& rates) {
  Graph g = test::parsed(
      "graph @main(%x: input f32[100000]) {\n"
      "  %a = mul(%x, %x)\n  %b = add(%a, %x)\n"
      "  %s = sum(%b)\n  %t = div(%b, %s)\n  return %t\n}\n");
  StageOptions options;
  options.memory_budget = MemoryBudget::percent(100);
  options.target.rates = rates;
  value_or_throw(run_stages(Stage::verify, Stage::fuse, g, test::core(), options));
  size_t stored = 0;
  for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n)) stored += g.node(n).output_count;
  return stored;
}

// %b is computed again for each of its readers, or stored for the second.
TEST(FuseCosts, what_is_dear_is_not_done_twice) {
  EXPECT_EQ(stored_with({}), 2);
  EXPECT_EQ(stored_with({.pointwise_gflops = 200, .memory_gigabytes = 2}), 2);
  EXPECT_EQ(stored_with({.pointwise_gflops = 2, .memory_gigabytes = 200}), 3);
}

}  // namespace
}  // namespace cleave
