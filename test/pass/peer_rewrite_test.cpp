// Numbers of PyTorch's own tests of its graph passes: matches, and calls and results matched.
#include <gtest/gtest.h>

#include "ir/edit.h"
#include "pass/pipeline.h"
#include "test/random_inputs.h"

namespace cleave {
namespace {

using test::core;
using test::parsed;

struct Counted {
  int64_t matches = 0, nodes = 0;
  friend bool operator==(const Counted&, const Counted&) = default;
};
void PrintTo(const Counted& c, std::ostream* out) { *out << c.matches << ", " << c.nodes; }

struct Rewritten {
  Counted count;
  std::string text;

  int64_t calls(const std::string& op) const {
    int64_t n = 0;
    for (size_t at = 0; (at = text.find(" = " + op + "(", at)) != std::string::npos; ++at) ++n;
    return n;
  }
};

Rewritten by(const std::string& pass, const std::string& text) {
  Graph g = parsed(text);
  const CompilePass r = value_or_throw(run_pass(value_or_throw(find_pass(pass)), g, core(), {}));
  value_or_throw(verify(g));
  return {{r.matches, r.nodes}, print(g)};
}

std::string graph(const std::string& head, const std::string& lines) {
  return "graph @main(" + head + ") {\n" + lines + "}\n";
}

TEST(PeerRewrite, R1_a_sum_of_two_products) {
  const Rewritten r = by("join_mm", graph("%a: input f32[16,16], %b: input f32[16,16], "
                                          "%c: input f32[16,16], %d: input f32[16,16]",
                                          "  %p = mm(%a, %b)\n  %q = mm(%c, %d)\n"
                                          "  %y = add(%p, %q)\n  return %y\n"));
  EXPECT_EQ(r.count, (Counted{1, 3}));
}

TEST(PeerRewrite, R2_products_of_other_shapes) {
  const Rewritten r = by("fuse_addmm", graph("%a: input f32[1,4], %b: input f32[4,2], "
                                             "%c: input f32[1,2], %d: input f32[2,1]",
                                             "  %p = mm(%a, %b)\n  %q = mm(%c, %d)\n"
                                             "  %y = add(%p, %q)\n  return %y\n"));
  EXPECT_EQ(r.count, (Counted{1, 2}));
}

TEST(PeerRewrite, R3_a_join_of_a_joins_own_beginning) {
  const Rewritten r = by("merge_slice_cat", graph("%a: input f32[2,32], %b: input f32[2,16]",
                                                  "  %c = cat([%a, %b]; dim=1)\n"
                                                  "  %s = slice(%c; dim=1, start=0, end=19)\n"
                                                  "  %y = cat([%c, %s]; dim=1)\n  return %y\n"));
  EXPECT_EQ(r.count, (Counted{1, 3}));
}

TEST(PeerRewrite, R4_a_split_that_is_joined_again) {
  const Rewritten r =
      by("cancel_split_cat", graph("%x: input f32[2,32]",
                                   "  %a, %b = split_with_sizes(%x; split_sizes=[8,24], dim=1)\n"
                                   "  %c = cat([%a, %b]; dim=1)\n  %y = pow(%c; exponent=2)\n"
                                   "  return %y\n"));
  EXPECT_EQ(r.count, (Counted{1, 4}));
}

TEST(PeerRewrite, R5_splits_that_are_joined_otherwise) {
  const std::string x = "%x: input f32[2,32]";
  const std::string split = "  %a, %b, %c = split_with_sizes(%x; split_sizes=[8,8,16], dim=1)\n";
  for (const char* join :
       {"cat([%b, %c]; dim=1)", "cat([%a, %b]; dim=0)", "cat([%b, %a, %c]; dim=1)"}) {
    const Rewritten r =
        by("cancel_split_cat",
           graph(x, split + "  %j = " + join + "\n  %y = pow(%j; exponent=2)\n  return %y\n"));
    EXPECT_EQ(r.count, (Counted{0, 0})) << join;
  }
}

TEST(PeerRewrite, R6_a_join_that_is_split_again) {
  const Rewritten r = by("cancel_cat_split",
                         graph("%a: input f32[2,2], %b: input f32[2,3], %c: input f32[2,5]",
                               "  %j = cat([%a, %b, %c]; dim=1)\n"
                               "  %x, %y, %z = split_with_sizes(%j; split_sizes=[2,3,5], dim=1)\n"
                               "  %e = exp(%x)\n  %f = exp(%y)\n  %g = exp(%z)\n"
                               "  return %e, %f, %g\n"));
  EXPECT_EQ(r.count, (Counted{1, 2}));
}

TEST(PeerRewrite, R8_a_view_and_back) {
  const std::string lines =
      "  %v = view(%x; size=[3,5,7])\n  %w = view(%v; size=[15,7])\n"
      "  %y = exp(%w)\n";
  const std::string x = "%x: input f32[15,7]";
  EXPECT_EQ(by("fold_view", graph(x, lines + "  return %y\n")).calls("view"), 0);
  EXPECT_EQ(by("fold_view", graph(x, lines + "  return %y, %v\n")).calls("view"), 2);
}

TEST(PeerRewrite, R10_conversions_with_nothing_between) {
  const Rewritten r = by("fold_convert", graph("%x: input f32[8]",
                                               "  %h = _to_copy(%x; dtype=f16)\n"
                                               "  %f = _to_copy(%h; dtype=f32)\n"
                                               "  return %f\n"));
  EXPECT_EQ(r.calls("_to_copy"), 1);
}

TEST(PeerRewrite, R9_a_pair_of_permutes) {
  const Rewritten r = by("fold_permute", graph("%x: input f32[3,4]",
                                               "  %a = permute(%x; dims=[1,0])\n"
                                               "  %b = permute(%a; dims=[1,0])\n"
                                               "  %y = exp(%b)\n  return %y\n"));
  EXPECT_EQ(r.calls("permute"), 0);
}

TEST(PeerRewrite, R12_cumsum_of_a_constant) {
  const Rewritten r = by("fold_cumsum", graph("%x: input f32[8,4]",
                                              "  %f = full(size=[8,4], fill_value=1, dtype=i64)\n"
                                              "  %c = cumsum(%f; dim=1)\n  %y = add(%x, %c)\n"
                                              "  return %y\n"));
  EXPECT_EQ(r.count.matches, 1);
  EXPECT_EQ(r.calls("cumsum"), 0);
}

TEST(PeerRewrite, R14_products_of_one_batch) {
  const Rewritten one = by("bmm_to_mm", graph("%x: input f32[1,16,8], %y: input f32[1,8,32]",
                                              "  %p = bmm(%x, %y)\n  return %p\n"));
  EXPECT_EQ(one.calls("mm"), 1);
  EXPECT_EQ(one.calls("bmm"), 0);
  const Rewritten three = by("bmm_to_mm", graph("%x: input f32[3,16,8], %y: input f32[3,8,32]",
                                                "  %p = bmm(%x, %y)\n  return %p\n"));
  EXPECT_EQ(three.calls("bmm"), 1);
}

}  // namespace
}  // namespace cleave
