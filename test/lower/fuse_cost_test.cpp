// Fusion depends on the target's rates.
#include "lower/fuse_cost.h"

#include <gtest/gtest.h>

#include "lower/fuse.h"
#include "lower/fuse_groups.h"
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

// A norm's rows, and the sums of its columns.
TEST(FuseCosts, columns_beside_rows_of_which_there_are_enough) {
  const auto kernels = [](int64_t least_rows, int64_t most_columns) {
    Graph g = test::parsed(
        "graph @main(%x: input f32[1000,64]) {\n"
        "  %s = sum(%x; dim=[1], keepdim=true)\n  %y = mul(%x, %s)\n"
        "  %t = sum(%y; dim=[0])\n  return %y, %t\n}\n");
    FuseCosts costs = FuseCosts::of({});
    costs.least_rows_of_columns = least_rows, costs.most_columns_of_rows = most_columns;
    value_or_throw(fuse_calls(g, test::core(), costs));
    return g.order().size();
  };
  EXPECT_EQ(kernels(1000, 64), 1u);
  EXPECT_EQ(kernels(1001, 64), 2u);
  EXPECT_EQ(kernels(1000, 63), 2u);
}

// How many matrices of f32 are stored, as long as nothing is computed again (fuse_again.h).
int64_t stored_in_f32(const std::string& graph, int64_t stored_part) {
  const Graph g = test::parsed(graph);
  FuseCosts costs = FuseCosts::of({});
  costs.stored_part = stored_part;
  const FuseCalls calls = describe_calls(g, costs);
  const FuseGroups groups = group_calls(g, calls, costs);
  int64_t count = 0;
  for (const NodeId n : calls.order) {
    if (calls[n].is_through()) continue;
    for (uint32_t k = 0; k < g.node(n).output_count; ++k) {
      const Type& t = g.type(g.node(n).out(k));
      count += t.rank() == 2 && t.dtype == DType::f32 &&
               is_read_outside(g, calls, groups, g.node(n).out(k), groups.of(n));
    }
  }
  return count;
}

// Of what a sum and a later kernel are made of.
TEST(FuseCosts, halves_may_be_stored_in_the_place_of_what_is_made_of_them) {
  const std::string graph =
      "graph @main(%q: input bf16[1000,64], %b: input bf16[1000,64]) {\n"
      "  %a = exp(%q)\n  %w = maximum(%a, %b)\n  %f = _to_copy(%w; dtype=f32)\n"
      "  %s = sum(%f; dim=[0])\n  %y = mul(%f, %s)\n  %z = _to_copy(%y; dtype=bf16)\n"
      "  return %a, %z\n}\n";
  EXPECT_EQ(stored_in_f32(graph, 4), 1);  // %f
  EXPECT_EQ(stored_in_f32(graph, 2), 0);  // %a is there
}

// Two later kernels are made of one half, by way of two matrices of f32.
TEST(FuseCosts, a_half_is_stored_for_several_that_are_made_of_it) {
  const std::string graph =
      "graph @main(%q: input bf16[1000,64], %b: input bf16[1000,64], %c: input bf16[1000,64],\n"
      "            %v: input f32[64], %w: input f32[64]) {\n"
      "  %m = maximum(%q, %b)\n  %h = add(%m, %c)\n  %f = _to_copy(%h; dtype=f32)\n"
      "  %x = mul(%f, %v)\n  %y = mul(%f, %w)\n"
      "  %s = sum(%x; dim=[0])\n  %t = sum(%y; dim=[0])\n"
      "  %k = mul(%x, %s)\n  %l = mul(%y, %t)\n"
      "  %i = _to_copy(%k; dtype=bf16)\n  %j = _to_copy(%l; dtype=bf16)\n  return %i, %j\n}\n";
  EXPECT_EQ(stored_in_f32(graph, 4), 2);  // %x, %y
  EXPECT_EQ(stored_in_f32(graph, 2), 0);  // %h is there
}

}  // namespace
}  // namespace cleave
