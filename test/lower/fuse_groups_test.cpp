// Which calls share a group.
// tests: fuse_limits.cpp fuse_rows.cpp
#include "lower/fuse_groups.h"

#include <gtest/gtest.h>

#include <map>

#include "test/lower/lowered.h"

namespace cleave {
namespace {

// The groups of fused calls, each as the names of their calls' first results; calls that are
// computed where they are read are in none.
std::vector<std::string> groups_of(const std::string& text, FuseReaders readers = {}) {
  const Graph g = test::decomposed(text);
  const FuseCosts costs = FuseCosts::of({});
  const FuseCalls calls = describe_calls(g, costs);
  const FuseGroups groups = group_calls(g, calls, costs, readers);
  std::map<int32_t, std::string> names;
  for (const NodeId n : calls.order)
    if (calls[n].is_fusible() && !calls[n].is_through()) {
      std::string& group = names[groups.of(n)];
      group += (group.empty() ? "" : " ") + g.name(g.node(n).out(0));
    }
  std::vector<std::string> out;
  for (const auto& [group, text] : names) out.push_back(text);
  return out;
}

using Groups = std::vector<std::string>;

TEST(FuseGroups, what_reads_one_value_and_what_it_gives) {
  EXPECT_EQ(groups_of("graph @g(%x: input f32[64,64]) {\n"
                      "  %a = sin(%x)\n  %b = exp(%x)\n  %c = mul(%a, %b)\n  %p = mm(%c, %c)\n"
                      "  %s = sum(%a; dim=[1])\n  return %a, %b, %p, %s\n}\n"),
            Groups{"a b c s"});
}

// %d can't run before the product that it reads, nor %b's group after it.
TEST(FuseGroups, what_is_read_before_stays_before) {
  EXPECT_EQ(groups_of("graph @g(%x: input f32[64,64]) {\n"
                      "  %a = sin(%x)\n  %b = exp(%a)\n  %p = mm(%a, %b)\n"
                      "  %d = mul(%p, %a)\n  return %b, %d\n}\n"),
            (Groups{"a b", "d"}));
}

// %a is taken along to where %c runs.
TEST(FuseGroups, an_unread_group_comes_along) {
  EXPECT_EQ(groups_of("graph @g(%x: input f32[64,64], %y: input f32[64,64]) {\n"
                      "  %a = sin(%x)\n  %p = mm(%y, %y)\n  %b = add(%p, %a)\n"
                      "  %c = mul(%b, %a)\n  return %a, %b, %c\n}\n"),
            Groups{"a b c"});
}

TEST(FuseGroups, rows_of_other_lengths_stay_apart) {
  const std::string head = "graph @g(%x: input f32[8,32,32]) {\n  %a = amax(%x; dim=[2])\n";
  EXPECT_EQ(groups_of(head + "  %b = sum(%x; dim=[2])\n  return %a, %b\n}\n"), Groups{"a b"});
  EXPECT_EQ(groups_of(head + "  %b = sum(%x; dim=[1,2])\n  return %a, %b\n}\n"),
            (Groups{"a", "b"}));
}

TEST(FuseGroups, another_order_of_the_elements_comes_along) {
  EXPECT_EQ(groups_of("graph @g(%x: input f32[64,64]) {\n"
                      "  %a = sin(%x)\n  %t = permute(%a; dims=[1,0])\n  %b = exp(%t)\n"
                      "  return %a, %b\n}\n"),
            Groups{"a b"});
}

TEST(FuseGroups, two_orders_of_the_same_elements_stay_apart) {
  EXPECT_EQ(groups_of("graph @g(%x: input f32[64,64]) {\n"
                      "  %a = sin(%x)\n  %t = permute(%a; dims=[1,0])\n  %b = mul(%t, %x)\n"
                      "  return %a, %b\n}\n"),
            (Groups{"a", "b"}));
}

// %c reads what %a reads, and what %b reads.
TEST(FuseGroups, groups_of_one_value_merge) {
  const std::string text =
      "graph @g(%x: input f32[64,64], %y: input f32[64,64]) {\n"
      "  %a = sum(%x; dim=[1])\n  %b = sum(%y; dim=[1])\n  %c = maximum(%x, %y)\n"
      "  return %a, %b, %c\n}\n";
  EXPECT_EQ(groups_of(text), (Groups{"a c", "b"}));
  EXPECT_EQ(groups_of(text, {.of_size = false, .merged = true}), Groups{"a b c"});
}

// The maximum of all of %y, which reads it last, stays apart.
TEST(FuseGroups, a_group_merges_that_did_not_read_the_value_last) {
  EXPECT_EQ(groups_of("graph @g(%x: input f32[64,64], %y: input f32[64,64]) {\n"
                      "  %a = sum(%x; dim=[1])\n  %b = sum(%y; dim=[1])\n"
                      "  %d = amax(%y; dim=[0,1])\n  %c = maximum(%x, %y)\n"
                      "  return %a, %b, %c, %d\n}\n",
                      {.of_size = false, .merged = true}),
            (Groups{"a b c", "d"}));
}

// A product reads %a before %c runs, which reads the product.
TEST(FuseGroups, groups_do_not_merge_around_what_reads_one_of_them) {
  EXPECT_EQ(groups_of("graph @g(%x: input f32[64,64]) {\n"
                      "  %a = sin(%x)\n  %p = mm(%a, %a)\n  %b = mul(%p, %p)\n"
                      "  %c = mul(%b, %x)\n  return %a, %c\n}\n",
                      {.of_size = false, .merged = true}),
            (Groups{"a", "c"}));
}

// The gradient of a norm of few long columns: sums of all rows come first, in parts.
TEST(FuseGroups, what_reads_sums_of_long_columns_stays_apart) {
  const auto text = [](int64_t rows, int64_t columns) {
    return fmt::format(
        "graph @g(%x: input f32[{0},{1}], %y: input f32[{0},{1}]) {{\n"
        "  %p = mul(%x, %y)\n  %a = sum(%p; dim=[0])\n  %b = sum(%x; dim=[0])\n"
        "  %q = mul(%y, %a)\n  %r = sub(%x, %q)\n  %c = sub(%r, %b)\n"
        "  return %a, %b, %c\n}}\n",
        rows, columns);
  };
  for (const bool merged : {false, true}) {
    const FuseReaders readers{.of_size = false, .merged = merged};
    EXPECT_EQ(groups_of(text(100000, 24), readers), (Groups{"a b", "c"})) << merged;
    EXPECT_EQ(groups_of(text(16, 24), readers), Groups{"a b c"}) << merged;
  }
}

// With a weight for each statistic: means of what it multiplies are no sums of their own.
TEST(FuseGroups, a_batch_norms_gradient_adds_up_two_sums) {
  const Graph g = test::decomposed(
      "graph @g(%g: input f32[8,4,6,6], %x: input f32[8,4,6,6], %w: input f32[4], %m: input "
      "f32[4], "
      "%r: input f32[4]) {\n"
      "  %dx, %dw, %db = native_batch_norm_backward(%g, %x, %w, none, none, %m, %r; train=true, "
      "eps=1e-05, output_mask=[true,true,true])\n  return %dx, %dw, %db\n}\n");
  int folds = 0;
  for (const NodeId n : g.order())
    folds += g.node(n).op->name == "sum" || g.node(n).op->name == "mean";
  EXPECT_EQ(folds, 2);
}

// The largest elements and where they are: folds of one kernel, over rows or columns.
TEST(FuseGroups, elements_and_their_positions_are_found_together) {
  for (const int dim : {0, 1, 2})
    EXPECT_EQ(groups_of(fmt::format("graph @g(%x: input f32[32,48,8], %y: input f32[32,48,8]) {{\n"
                                    "  %a = mul(%x, %y)\n  %v, %i = max(%a; dim={})\n"
                                    "  return %v, %i\n}}\n",
                                    dim))
                  .size(),
              1u)
        << dim;
}

}  // namespace
}  // namespace cleave
