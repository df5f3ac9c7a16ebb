// Sums of padded parts become cats where they leave no gaps.
#include "lower/join_pads.h"

#include <gtest/gtest.h>

#include "ir/edit.h"
#include "test/random_inputs.h"

namespace cleave {
namespace {

using test::core;
using test::parsed;

// The body behind the pass.
std::string joined(const std::string& body) {
  Graph g = parsed("graph @g(%a: input f32[1,4], %b: input f32[2,4]) {\n" + body + "}\n");
  value_or_throw(join_pads(g, core()));
  eliminate_dead_code(g);
  EXPECT_TRUE(verify(g).ok());
  const std::string text = print(g);
  const size_t begin = text.find("{\n") + 2;
  return text.substr(begin, text.size() - begin - 2);
}

const std::string parts =
    "  %p = constant_pad_nd(%a; pad=[0,0,0,3]) : f32[4,4]\n"
    "  %q = constant_pad_nd(%b; pad=[0,0,1,1]) : f32[4,4]\n"
    "  %r = constant_pad_nd(%a; pad=[0,0,3,0]) : f32[4,4]\n";

TEST(JoinPads, a_sum_of_parts_in_any_order) {
  EXPECT_EQ(joined(parts + "  %s = add(%r, %p)\n  %t = add(%q, %s)\n  return %t\n"),
            "  %t = cat([%a, %b, %a]) : f32[4,4]\n  return %t\n");
}

TEST(JoinPads, a_sum_that_goes_on_keeps_its_other_terms) {
  EXPECT_EQ(joined(parts + "  %s = add(%p, %q)\n  %t = add(%s, %r)\n  %u = sin(%t)\n"
                           "  %v = add(%t, %u)\n  return %v\n"),
            "  %t = cat([%a, %b, %a]) : f32[4,4]\n  %u = sin(%t) : f32[4,4]\n"
            "  %v = add(%t, %u) : f32[4,4]\n  return %v\n");
}

void expect_unchanged(const std::string& body) {
  EXPECT_EQ(joined(body).find("cat("), std::string::npos) << body;
}

TEST(JoinPads, gaps_and_overlaps_stay) {
  expect_unchanged(parts + "  %t = add(%p, %q)\n  return %t\n");
  expect_unchanged(parts +
                   "  %o = constant_pad_nd(%b; pad=[0,0,2,0])\n  %s = add(%p, %q)\n"
                   "  %t = add(%s, %o)\n  return %t\n");
}

TEST(JoinPads, other_sums_stay) {
  expect_unchanged(parts + "  %s = add(%p, %q; alpha=2)\n  %t = add(%s, %r)\n  return %t\n");
  expect_unchanged(parts + "  %s = add(%p, %q)\n  %t = add(%s, %r)\n  return %t, %s\n");
  expect_unchanged(
      "  %p = constant_pad_nd(%a; pad=[0,0,0,2], value=1)\n"
      "  %q = constant_pad_nd(%b; pad=[0,0,1,0])\n  %t = add(%p, %q)\n  return %t\n");
  expect_unchanged(
      "  %p = constant_pad_nd(%a; pad=[0,0,0,2])\n"
      "  %q = constant_pad_nd(%b; pad=[0,0,1,0])\n  %t = sub(%p, %q)\n  return %t\n");
  expect_unchanged(
      "  %p = constant_pad_nd(%a; pad=[0,4,0,2])\n"
      "  %q = constant_pad_nd(%b; pad=[4,0,1,0])\n  %t = add(%p, %q)\n  return %t\n");
}

}  // namespace
}  // namespace cleave
