// Results of a group with rows of another length than what it folds, or stored in another order.
// tests: group_row.cpp group_results.cpp group_orders.cpp group_scattered.cpp
#include <gtest/gtest.h>

#include "schedule/group_check.h"
#include "schedule/group_plan.h"
#include "test/random_inputs.h"
#include "test/sample/check_graph.h"

namespace cleave::random {
namespace {

using test::core;
using test::parsed;

// Inputs %x and %u of the type.
Graph graph_of(const std::string& type, const std::string& body) {
  return parsed(fmt::format("graph @main(%x: input {0}, %u: input {0}) {{\n{1}}}\n", type, body));
}

void expect_right(const std::string& type, const std::string& body) {
  RandomGraph r{graph_of(type, body), {}};
  for (const auto& [name, a] : test::random_inputs(r.g)) r.inputs.push_back(a);
  const Result<Verdict> v = check_graph(r, core(), CompilerChoice::none);
  ASSERT_TRUE(v.ok()) << body << v.failure().message;
  EXPECT_EQ(v->difference, "") << type << "\n" << body;
}

// All calls as one group: what is wrong with it, or "".
std::string refusal(const std::string& type, const std::string& body) {
  const Graph g = graph_of(type, body);
  std::vector<NodeId> nodes;
  for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n)) nodes.push_back(n);
  std::vector<ValueId> results;
  for (const Return& r : g.returns()) results.push_back(r.value);
  const Status s = check_group(g, nodes, results);
  return s.ok() ? "" : s.failure().message;
}

const std::string softmax =
    "  %m = amax(%x; dim=[-1], keepdim=true)\n  %c = sub(%x, %m)\n  %e = exp(%c)\n"
    "  %n = sum(%e; dim=[-1], keepdim=true)\n  %s = div(%e, %n)\n";

TEST(OwnRows, several_lengths_beside_the_row) {
  const std::string body = softmax +
                           "  %p = constant_pad_nd(%s; pad=[3,5])\n  %y = sin(%p)\n"
                           "  %h = slice(%s; dim=-1, start=1, end=5)\n  %z = exp(%h)\n"
                           "  %q = constant_pad_nd(%u; pad=[3,5])\n  %w = mul(%p, %q)\n"
                           "  return %y, %z, %s, %w, %n\n";
  for (const char* type :
       {"f32[7,16]", "f32[2,3,17]", "f32[1,33]", "f32[40]", "bf16[5,24]", "f64[4,5]"}) {
    EXPECT_EQ(refusal(type, body), "") << type;
    expect_right(type, body);
  }
  expect_right("f32[0,8]", body);
}

// %w may not take the place of %b, whose elements rows behind it read.
TEST(OwnRows, nothing_is_overwritten_that_is_read) {
  expect_right("f32[6,6]",
               "  %b = mm(%u, %u)\n  %f = view(%b; size=[36])\n"
               "  %i = slice(%x; dim=1, start=0, end=4)\n"
               "  %t = sum(%i; dim=[1], keepdim=true)\n"
               "  %h = slice(%f; dim=0, start=0, end=24)\n"
               "  %v = view(%h; size=[6,4])\n  %q = mul(%i, %v)\n"
               "  %a = mul(%q, %t)\n  %w = mul(%b, %t)\n  return %a, %w\n");
}

// Of %e a row is kept; %w reads some of other rows.
TEST(OwnRows, what_is_kept_is_of_one_row) {
  expect_right("f32[6,16]",
               "  %e = erf(%x)\n  %t = sum(%e; dim=[1], keepdim=true)\n"
               "  %y = div(%e, %t)\n  %f = view(%e; size=[96])\n"
               "  %h = slice(%f; dim=0, start=40, end=88)\n"
               "  %v = view(%h; size=[6,8])\n  %w = mul(%v, %t)\n"
               "  return %y, %w\n");
}

// Of %y, which is stored in another order, other elements are in the row than are kept there.
TEST(OwnRows, what_is_kept_lies_as_it_is_read) {
  const std::string body =
      "  %t = sum(%x; dim=[1], keepdim=true)\n  %r = permute(%x; dims=[1,0])\n"
      "  %y = sin(%r)\n  %p = constant_pad_nd(%y; pad=[1,2])\n"
      "  %w = mul(%p, %t)\n  return %t, %y, %w\n";
  EXPECT_EQ(refusal("f32[12,12]", body), "");
  expect_right("f32[12,12]", body);
  expect_right("f32[16,16]", body);
}

TEST(OwnRows, rows_of_nothing) {
  expect_right("f32[6,16]", softmax +
                                "  %h = slice(%s; dim=1, start=3, end=3)\n  %y = sin(%h)\n"
                                "  return %s, %y\n");
}

TEST(OwnRows, beside_sums_of_columns) {
  expect_right("f32[130,16]", softmax +
                                  "  %p = constant_pad_nd(%s; pad=[0,4])\n  %y = sin(%p)\n"
                                  "  %k = sum(%s; dim=[0])\n  return %y, %k\n");
}

TEST(OwnRows, in_another_order) {
  const std::string body = softmax +
                           "  %t = permute(%s; dims=[1,0,2])\n  %y = sin(%t)\n"
                           "  %b = permute(%s; dims=[2,1,0])\n  %z = exp(%b)\n"
                           "  return %y, %z, %s\n";
  for (const char* type : {"f32[7,5,16]", "f32[2,3,17]", "f32[1,4,9]", "f32[8,8,8]"}) {
    EXPECT_EQ(refusal(type, body), "") << type;
    expect_right(type, body);
  }
}

TEST(OwnRows, what_reads_other_rows_is_no_kernel) {
  EXPECT_EQ(refusal("f32[8,16]", softmax + "  %p = constant_pad_nd(%s; pad=[0,0,1,7])\n"
                                           "  %v = view(%p; size=[8,32])\n  %y = sin(%v)\n"
                                           "  return %y\n"),
            "lower: %n: is read in another row");
  EXPECT_EQ(
      refusal("f32[8,16]", softmax + "  %h = slice(%s; dim=0, start=0, end=6)\n  %y = sin(%h)\n"
                                     "  return %y\n"),
      "lower: %n: is read in another row");
  EXPECT_EQ(
      refusal("f32[3,16]", softmax + "  %h = slice(%s; dim=0, start=0, end=1)\n"
                                     "  %v = slice(%h; dim=1, start=0, end=10)\n  %y = sin(%v)\n"
                                     "  return %y\n"),
      "lower: %y: has another number of rows");
}

}  // namespace
}  // namespace cleave::random
