// What is computed again where other kernels read it, and which of several groupings is taken.
// tests: fuse_again.cpp
#include "lower/fuse_plan.h"

#include <gtest/gtest.h>

#include <map>

#include "test/lower/lowered.h"

namespace cleave {
namespace {

struct Planned {
  explicit Planned(const std::string& text)
      : graph(test::decomposed(text)), plan(plan_fusion(graph, FuseCosts::of({}))) {}

  bool is_repeated(const char* name) const {
    return plan.calls[graph.value(graph.find(name)).def].kind == FuseCall::Kind::cheap;
  }
  bool share_a_kernel(const char* a, const char* b) const {
    return plan.groups.of(graph, graph.find(a)) == plan.groups.of(graph, graph.find(b));
  }

  Graph graph;
  FusePlan plan;
};

// A product stands between the kernels of %a and %b, both of which read %x and FUNCTION(%x).
Planned around_a_product(int64_t size, const std::string& function,
                         const std::string& in_backward = "neg(%x)") {
  return Planned(
      fmt::format("graph @g(%x: input f32[{0},{0}], %w: input f32[{0},{0}]) {{\n  %f = {1}\n"
                  "  %h = mul(%f, %x)\n  %a = sin(%h)\n  %p = mm(%a, %w)\n  %k = {2}\n"
                  "  %u = mul(%f, %p)\n  %b = mul(%u, %k)\n  return %p, %b\n}}\n",
                  size, function, in_backward));
}

// A number of each column would be computed for each row, one of each row once.
TEST(FusePlan, numbers_of_columns_are_not_computed_again_for_each_row) {
  const auto of = [](int dim) {
    return Planned(fmt::format(
        "graph @g(%x: input f32[4096,64], %w: input f32[64,64]) {{\n"
        "  %s = sum(%x; dim=[{}], keepdim=true)\n  %m = mul(%s, %s)\n  %r = add(%m, %s)\n"
        "  %a = mul(%x, %r)\n  %p = mm(%a, %w)\n  %b = mul(%p, %r)\n"
        "  return %p, %b, %s\n}}\n",
        dim));
  };
  EXPECT_FALSE(of(0).is_repeated("r"));
  EXPECT_TRUE(of(1).is_repeated("r"));
}

// In less time than a kernel's start takes.
// A table's functions would be computed for each pair that it turns, not once.
TEST(FusePlan, tables_are_not_computed_again_for_what_they_turn) {
  const auto of = [](int64_t rows) {
    return Planned(
        fmt::format("graph @g(%x: input f32[{0},8,2], %w: input f32[16,16]) {{\n"
                    "  %i = arange(; start=0, end=8, dtype=f64)\n  %c = cos(%i)\n"
                    "  %t = unsqueeze(%c; dim=-1)\n  %r = _to_copy(%t; dtype=f32)\n"
                    "  %a = mul(%x, %r)\n  %v = view(%a; size=[{0},16])\n  %p = mm(%v, %w)\n"
                    "  %q = view(%p; size=[{0},8,2])\n  %b = mul(%q, %r)\n  return %b\n}}\n",
                    rows));
  };
  for (const int64_t rows : {1, 4096}) {
    const Planned p = of(rows);
    EXPECT_EQ(p.is_repeated("r"), rows == 1) << rows;
  }
}

TEST(FusePlan, functions_of_few_elements_are_computed_again) {
  EXPECT_TRUE(around_a_product(24, "cos(%x)").is_repeated("f"));
  EXPECT_FALSE(around_a_product(32, "cos(%x)").is_repeated("f"));
  EXPECT_FALSE(around_a_product(24, "pow(%x; exponent=2.5)").is_repeated("f"));
}

TEST(FusePlan, what_shares_its_functions_is_computed_again) {
  EXPECT_FALSE(around_a_product(256, "gelu(%x)").is_repeated("f"));
  EXPECT_TRUE(around_a_product(256, "gelu(%x)", "gelu_backward(%p, %x)").is_repeated("f"));
  EXPECT_FALSE(around_a_product(256, "gelu(%x; approximate=\"tanh\")", "gelu_backward(%p, %x)")
                   .is_repeated("f"));
  EXPECT_FALSE(around_a_product(256, "gelu(%x)", "gelu_backward(%p, %w)").is_repeated("f"));
}

// The later kernel would read %x and %w in place of %f.
TEST(FusePlan, what_reads_as_much_as_it_saves_is_stored) {
  const std::string head =
      "graph @g(%x: input f32[256,256], %w: input f32[256,256]) {\n"
      "  %f = div(%x, %w)\n  %a = sin(%f)\n  %p = mm(%a, %w)\n";
  EXPECT_FALSE(Planned(head + "  %b = mul(%f, %p)\n  return %p, %b\n}\n").is_repeated("f"));
  EXPECT_TRUE(Planned(head + "  %c = mul(%x, %w)\n  %b = mul(%f, %p)\n  %d = mul(%b, %c)\n"
                             "  return %p, %d\n}\n")
                  .is_repeated("f"));
}

TEST(FusePlan, what_is_returned_or_multiplied_is_stored) {
  const std::string head =
      "graph @g(%x: input f32[24,24], %w: input f32[24,24]) {\n"
      "  %f = cos(%x)\n  %a = sin(%f)\n  %p = mm(%a, %w)\n  %b = mul(%f, %p)\n";
  EXPECT_TRUE(Planned(head + "  %c = mul(%b, %x)\n  return %p, %c\n}\n").is_repeated("f"));
  EXPECT_FALSE(Planned(head + "  %c = mul(%b, %x)\n  return %p, %c, %f\n}\n").is_repeated("f"));
  EXPECT_FALSE(Planned(head + "  %c = mm(%b, %f)\n  return %p, %c\n}\n").is_repeated("f"));
}

// %s gathers rows of %x between two kernels that read all of it.
TEST(FusePlan, a_gather_keeps_no_readers_apart) {
  const Planned p(
      "graph @g(%x: input f32[64,64], %w: input f32[64], %i: input i64[16]) {\n"
      "  %a = mul(%x, %w)\n  %b = sin(%a)\n  %r = index(%x, [%i])\n  %s = sin(%r)\n"
      "  %e = exp(%x)\n  %c = sin(%e)\n  return %b, %s, %c\n}\n");
  EXPECT_TRUE(p.share_a_kernel("b", "c"));
  EXPECT_FALSE(p.share_a_kernel("b", "s"));
}

// A norm of rows of %x and sums of rows of %y are one kernel, since %c reads both.
TEST(FusePlan, groups_that_read_one_value_become_a_kernel) {
  const Planned p(
      "graph @g(%x: input f32[64,64], %y: input f32[64,64]) {\n"
      "  %n, %m, %r = native_layer_norm(%x, none, none; normalized_shape=[64], eps=1e-05)\n"
      "  %s = sum(%y; dim=[1])\n  %c = maximum(%x, %y)\n  return %n, %s, %c\n}\n");
  EXPECT_TRUE(p.share_a_kernel("n", "s"));
  EXPECT_TRUE(p.share_a_kernel("n", "c"));
}

}  // namespace
}  // namespace cleave
