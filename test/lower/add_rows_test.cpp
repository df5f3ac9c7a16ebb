// Gradients of tables added in place.
#include "lower/add_rows.h"
#include "test/random_inputs.h"

#include <gtest/gtest.h>

namespace cleave {
namespace {

using test::core;
using test::parsed;

constexpr const char* head =
    "graph @g(%a: input f32[9,4], %i: input i64[2,3], %d: input f32[2,3,4]) {\n"
    "  %t = embedding_dense_backward(%d, %i; num_weights=9, padding_idx=-1, "
    "scale_grad_by_freq=false)\n";

// The operators that are left, in order.
std::vector<std::string> left(const std::string& text) {
  Graph g = parsed(text);
  value_or_throw(add_rows_in_place(g, core()));
  EXPECT_TRUE(verify(g).ok()) << print(g);
  std::vector<std::string> out;
  for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n)) out.push_back(g.node(n).op->name);
  return out;
}

using Calls = std::vector<std::string>;

TEST(AddRows, the_sum_with_a_table_is_added_row_by_row) {
  EXPECT_EQ(left(std::string(head) + "  %y = add(%a, %t)\n  return %y\n}\n"),
            (Calls{"view", "view", "index_add"}));
  EXPECT_EQ(left(std::string(head) + "  %y = add(%t, %a)\n  return %y\n}\n"),
            (Calls{"view", "view", "index_add"}));
}

TEST(AddRows, what_is_read_elsewhere_or_scaled_or_rounded_stays) {
  const Calls both = {"embedding_dense_backward", "add"};
  EXPECT_EQ(left(std::string(head) + "  %y = add(%a, %t)\n  return %y, %t\n}\n"), both);
  EXPECT_EQ(left(std::string(head) + "  %y = add(%a, %t; alpha=2)\n  return %y\n}\n"), both);
  EXPECT_EQ(left("graph @g(%a: input bf16[9,4], %i: input i64[3], %d: input bf16[3,4]) {\n"
                 "  %t = embedding_dense_backward(%d, %i; num_weights=9, padding_idx=-1, "
                 "scale_grad_by_freq=false)\n  %y = add(%a, %t)\n  return %y\n}\n"),
            both);
  EXPECT_EQ(left("graph @g(%a: input f32[9,4], %i: input i64[3], %d: input f32[3,4]) {\n"
                 "  %t = embedding_dense_backward(%d, %i; num_weights=9, padding_idx=2, "
                 "scale_grad_by_freq=false)\n  %y = add(%a, %t)\n  return %y\n}\n"),
            both);
}

}  // namespace
}  // namespace cleave
