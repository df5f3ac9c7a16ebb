// The order of memory in which a value's dims lie, and what values are computed from.
// tests: memory_order.cpp ordered_values.cpp
#include "pass/decomposed/memory_order.h"

#include <gtest/gtest.h>

#include "ir/text.h"
#include "test/random_inputs.h"

namespace cleave {
namespace {

using Ints = std::vector<int64_t>;

std::optional<DimOrder> order_of(const std::string& calls) {
  const Graph g =
      test::parsed("graph @main(%x: input f32[2,20,12]) {\n" + calls + "  return %v\n}\n");
  const ValueId v = g.find("v");
  const std::vector<MemoryRead> reads = memory_reads(g, v);
  EXPECT_EQ(reads.size(), 1);
  EXPECT_EQ(g.name(reads[0].value), "x");
  return DimOrder::of(static_shape(g.type(v)), reads[0].order);
}

Ints numbers(const Shape& shape) {
  Ints out;
  for (const Dim& d : shape) out.push_back(d.value());
  return out;
}

TEST(MemoryOrder, of_groups_of_channels) {
  const DimOrder order = order_of(
                             "  %p = permute(%x; dims=[0,2,1])\n  %e = exp(%p)\n"
                             "  %v = view(%e; size=[2,6,2,20])\n")
                             .value();
  EXPECT_EQ(order.order(), (Ints{0, 3, 1, 2}));
  EXPECT_EQ(order.back(), (Ints{0, 2, 3, 1}));
  EXPECT_EQ(numbers(order.in_memory({2, 6, 2, 20})), (Ints{2, 20, 6, 2}));
  EXPECT_EQ(numbers(order.in_memory(order.padded({6, 1, 1}))), (Ints{1, 1, 6, 1}));
  EXPECT_EQ(order.dims_in_memory({2, 3}), (Ints{1, 3}));
  EXPECT_TRUE(order.keeps_places({2, 6, 2, 1}));
  EXPECT_FALSE(order.keeps_places({1, 6, 1, 20}));
}

TEST(MemoryOrder, a_dim_of_two_parts) {
  const DimOrder order =
      order_of("  %p = permute(%x; dims=[0,2,1])\n  %v = view(%p; size=[1,24,20])\n").value();
  EXPECT_EQ(numbers(order.parts({1, 24, 20})), (Ints{1, 2, 12, 20}));
  EXPECT_EQ(numbers(order.in_memory({1, 24, 20})), (Ints{1, 2, 20, 12}));
  EXPECT_EQ(numbers(order.in_memory({1, 24, 1})), (Ints{1, 2, 1, 12}));
  EXPECT_EQ(order.dims_in_memory({1}), (Ints{1, 3}));
}

TEST(MemoryOrder, none_where_a_dim_is_no_whole_parts) {
  EXPECT_FALSE(order_of("  %p = permute(%x; dims=[0,2,1])\n  %v = view(%p; size=[2,5,48])\n"));
  EXPECT_TRUE(order_of("  %p = permute(%x; dims=[0,2,1])\n  %v = view(%p; size=[2,3,80])\n"));
}

TEST(MemoryOrder, reads_end_at_clones_and_at_what_repeats) {
  const Graph g = test::parsed(
      "graph @main(%x: input f32[4,6], %y: input f32[6,4], %z: input f32[1,4]) {\n"
      "  %p = permute(%x; dims=[1,0])\n  %c = clone(%p)\n  %t = permute(%c; dims=[1,0])\n"
      "  %e = expand(%z; size=[6,4])\n  %a = add(%y, %e)\n  %b = permute(%a; dims=[1,0])\n"
      "  %v = mul(%t, %b)\n  return %v\n}\n");
  std::vector<std::string> names;
  for (const MemoryRead& r : memory_reads(g, g.find("v"))) {
    names.push_back(g.name(r.value));
    EXPECT_EQ(r.order.digits(), (std::vector<Reorder::Digit>{{4, 6, 1}, {6, 1, 4}}));
  }
  EXPECT_EQ(names, (std::vector<std::string>{"c", "y"}));
}

}  // namespace
}  // namespace cleave
