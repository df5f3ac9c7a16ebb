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
  const PassReport r = value_or_throw(run_pass(value_or_throw(find_pass(pass)), g, core(), {}));
  value_or_throw(verify(g));
  return {{r.matches, r.nodes}, print(g)};
}

std::string graph(const std::string& head, const std::string& lines) {
  return "graph @main(" + head + ") {\n" + lines + "}\n";
}

TEST(PeerRewrite, R1_a_sum_of_two_products) {
  const Rewritten r = by("fuse_addmm", graph("%a: input f32[16,16], %b: input f32[16,16], "
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
