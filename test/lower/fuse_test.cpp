// Which calls become one kernel, and that they compute the same as unfused.
// tests: fuse_rewrite.cpp fuse_split.cpp fuse_returned.cpp fuse_body.cpp
// tests: drop_copies.cpp
#include "lower/fuse.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "compile/plan_program.h"
#include "test/prepared.h"
#include "test/random_inputs.h"

namespace cleave {
namespace {

using test::core;
using test::parsed;

// The calls that are left, in order, fused ones with the number of calls within.
std::vector<std::string> fused_calls(const std::string& text) {
  Graph g = parsed(text);
  value_or_throw(test::prepare(g, true, {.passes_off = {"all"}}));
  EXPECT_TRUE(verify(g).ok()) << print(g);
  std::vector<std::string> out;
  for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n)) {
    std::string name = g.node(n).op->name;
    if (name == "fused") name += fmt::format(" {}", g.view(n).graph_attr("body")->node_count());
    out.push_back(std::move(name));
  }
  return out;
}

using Calls = std::vector<std::string>;

// Of %x, over its last dim.
const std::string softmax =
    "  %m = amax(%x; dim=[-1], keepdim=true)\n  %c = sub(%x, %m)\n  %e = exp(%c)\n"
    "  %n = sum(%e; dim=[-1], keepdim=true)\n  %s = div(%e, %n)\n";

TEST(Fuse, a_chain_is_one_kernel) {
  EXPECT_EQ(fused_calls("graph @g(%x: input f32[64,32]) {\n"
                        "  %a = sin(%x)\n  %b = exp(%a)\n  %c = add(%b, %x)\n  return %c\n}\n"),
            (Calls{"fused 3"}));
}

TEST(Fuse, a_norm_and_its_sums_are_one_kernel) {
  EXPECT_EQ(fused_calls("graph @g(%x: input f32[64,32], %w: input f32[32]) {\n"
                        "  %m = mean(%x; dim=[1], keepdim=true)\n  %c = sub(%x, %m)\n"
                        "  %q = mul(%c, %c)\n  %v = mean(%q; dim=[1], keepdim=true)\n"
                        "  %r = rsqrt(%v)\n  %h = mul(%c, %r)\n  %y = mul(%h, %w)\n"
                        "  %s = sum(%y; dim=[0])\n  return %y, %s\n}\n"),
            (Calls{"fused 8"}));
}

// Of %l the loss reads one value a row, and the gradient computes it again after the product: %d
// alone is stored in full.
TEST(Fuse, log_softmax_is_computed_where_it_is_read) {
  const char* text =
      "graph @g(%x: input f32[64,512], %t: input i64[64,1], %w: input f32[1,64]) {\n"
      "  %m = amax(%x; dim=[1], keepdim=true)\n  %c = sub(%x, %m)\n  %e = exp(%c)\n"
      "  %s = sum(%e; dim=[1], keepdim=true)\n  %g = log(%s)\n  %l = sub(%c, %g)\n"
      "  %p = gather(%l, %t; dim=1)\n  %k = mm(%w, %p)\n  %q = exp(%l)\n"
      "  %d = mul(%q, %k)\n  return %k, %d\n}\n";
  Graph g = parsed(text);
  value_or_throw(test::prepare(g, true, {.passes_off = {"all"}}));
  std::vector<std::string> full;
  for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n))
    for (uint32_t k = 0; k < g.node(n).output_count; ++k)
      if (g.type(g.node(n).out(k)).rank() == 2 && g.type(g.node(n).out(k)).shape[1] == Dim(512))
        full.push_back(g.name(g.node(n).out(k)));
  EXPECT_EQ(full, Calls{"d"}) << print(g);
}

TEST(Fuse, what_a_product_reads_is_made_before_it) {
  EXPECT_EQ(fused_calls("graph @g(%x: input f32[16,16]) {\n"
                        "  %a = exp(%x)\n  %p = mm(%a, %a)\n  %b = add(%a, %p)\n"
                        "  %c = exp(%b)\n  return %c\n}\n"),
            (Calls{"exp", "mm", "fused 2"}));
}

// %d reads %c, which is after the product of what %a's kernel makes: no cycle.
TEST(Fuse, no_group_waits_for_itself) {
  EXPECT_EQ(fused_calls("graph @g(%x: input f32[16,16]) {\n"
                        "  %a = exp(%x)\n  %b = sin(%x)\n  %p = mm(%a, %b)\n"
                        "  %d = mul(%p, %a)\n  %e = mul(%d, %b)\n  return %e, %d\n}\n"),
            (Calls{"fused 2", "mm", "fused 2"}));
}

TEST(Fuse, a_sum_read_in_another_row_stays_apart) {
  const Calls calls = fused_calls(
      "graph @g(%x: input f32[32,32]) {\n"
      "  %m = sum(%x; dim=[1], keepdim=true)\n  %t = permute(%m; dims=[1,0])\n"
      "  %y = mul(%x, %t)\n  return %y\n}\n");
  EXPECT_EQ(calls, (Calls{"sum", "permute", "mul"}));
}

TEST(Fuse, folds_of_other_rows_stay_apart) {
  EXPECT_EQ(fused_calls("graph @g(%x: input f32[8,32,32]) {\n"
                        "  %a = amax(%x; dim=[2])\n  %b = amax(%x; dim=[1,2])\n"
                        "  return %a, %b\n}\n"),
            (Calls{"amax", "amax"}));
}

// A small reader of sums over columns (the cast of %s) gets its own kernel; where a large value
// (%y) needs the sums as well, all is one kernel.
TEST(Fuse, what_little_reads_sums_of_columns_stays_apart) {
  EXPECT_EQ(fused_calls("graph @g(%x: input bf16[2048,512]) {\n"
                        "  %y = sin(%x)\n  %s = sum(%y; dim=[0])\n"
                        "  %c = _to_copy(%s; dtype=f32)\n  return %y, %c\n}\n"),
            (Calls{"fused 2", "_to_copy"}));
  EXPECT_EQ(fused_calls("graph @g(%x: input bf16[2048,512]) {\n"
                        "  %s = sum(%x; dim=[0])\n  %c = sin(%s)\n"
                        "  %y = sub(%x, %c)\n  return %y, %c\n}\n"),
            (Calls{"fused 3"}));
}

TEST(Fuse, copies_are_gone) {
  EXPECT_EQ(fused_calls("graph @g(%x: input f32[8], %i: input i32[8]) {\n"
                        "  %a = clone(%x)\n  %b = cat([%a])\n  %c = slice_scatter(%a, %b)\n"
                        "  %d = _to_copy(%c; dtype=f32)\n  %e = opaque(%d)\n"
                        "  %f = ceil(%i)\n  %g = opaque(%f)\n  return %e, %g\n}\n"),
            (Calls{"opaque", "opaque"}));
}

// %n is drawn again right before its reader after the products, and not earlier.
TEST(Fuse, what_is_computed_again_is_not_computed_early) {
  EXPECT_EQ(fused_calls("graph @g(%x: input f32[64,64], %rng: input i64[2]) {\n"
                        "  %y, %m = native_dropout(%x, %rng; p=0.5, stream=0)\n"
                        "  %p = mm(%y, %y)\n  %q = mm(%p, %y)\n"
                        "  %z, %n = native_dropout(%x, %rng; p=0.5, stream=0)\n"
                        "  %d = native_dropout_backward(%q, %n; scale=2.0)\n"
                        "  %s = mul(%d, %x)\n  return %s\n}\n"),
            (Calls{"native_dropout", "mm", "mm", "fused 3"}));
}

// Compiling a kernel takes more than linear time: the number of its calls is bounded.
TEST(Fuse, a_kernel_computes_a_bounded_number_of_calls) {
  std::string text = "graph @g(%v0: input f32[4]) {\n";
  constexpr int links = 3000;
  for (int i = 0; i < links; ++i) text += fmt::format("  %v{} = sin(%v{})\n", i + 1, i);
  text += fmt::format("  return %v{}\n}}\n", links);
  int all = 0;
  for (const std::string& call : fused_calls(text)) {
    const int calls = std::stoi(call.substr(call.find(' ')));
    EXPECT_LE(calls, 256);
    all += calls;
  }
  EXPECT_EQ(all, links);
}

TEST(Fuse, a_long_chain_comes_through) {
  std::string text = "graph @g(%v0: input f32[4,4]) {\n";
  constexpr int links = 3000;
  for (int i = 0; i < links; ++i)
    text += i % 3 == 2 ? fmt::format("  %v{} = mm(%v{}, %v{})\n", i + 1, i, i - 1)
                       : fmt::format("  %v{} = sin(%v{})\n", i + 1, i);
  text += fmt::format("  return %v{}\n}}\n", links);
  const Calls calls = fused_calls(text);
  EXPECT_EQ(std::count(calls.begin(), calls.end(), "mm"), links / 3);
}

// %w reads %m in another row than it was reduced in: the others stay one kernel.
TEST(Fuse, what_cannot_be_one_kernel_is_split) {
  EXPECT_EQ(fused_calls("graph @g(%x: input f32[12,12,12,8], %y: input f32[12,12,12,8]) {\n"
                        "  %m = amax(%x; dim=[2])\n  %d = sub(%x, %y)\n  %p = gt(%y; other=0)\n"
                        "  %w = where(%p, %y, %m)\n  %a = sin(%d)\n  %b = sin(%w)\n"
                        "  return %a, %b\n}\n"),
            (Calls{"fused 3", "fused 3"}));
}

TEST(Fuse, a_returned_view_is_written_at_once) {
  const std::string head =
      "graph @g(%x: input f32[8,20,12], %t: input f32[20,12,8]) {\n"
      "  %p = permute(%x; dims=[1,2,0])\n  %s = sin(%p)\n"
      "  %m = mul(%t, %s)\n";
  EXPECT_EQ(fused_calls(head + "  %y = permute(%m; dims=[2,0,1])\n  return %y\n}\n"),
            Calls{"fused 5"});
  // Through what reads it twice.
  EXPECT_EQ(fused_calls(head + "  %d = add(%m, %m)\n  %y = permute(%d; dims=[2,0,1])\n"
                               "  return %y\n}\n"),
            Calls{"fused 6"});
  // What is read elsewhere too is made once.
  EXPECT_EQ(fused_calls(head + "  %y = permute(%m; dims=[2,0,1])\n  return %y, %m\n}\n"),
            (Calls{"fused 3", "permute"}));
}

// %b is stored in the other order by the kernel that reads %x in its own.
TEST(Fuse, what_is_read_in_two_orders_is_read_once) {
  EXPECT_EQ(fused_calls("graph @g(%x: input f32[20,24]) {\n"
                        "  %a = tanh(%x)\n  %t = permute(%x; dims=[1,0])\n  %b = sin(%t)\n"
                        "  return %a, %b\n}\n"),
            Calls{"fused 3"});
  // %c needs another element of %a than the group makes: it is read when all are made.
  EXPECT_EQ(fused_calls("graph @g(%x: input f32[20,20]) {\n"
                        "  %a = tanh(%x)\n  %t = permute(%a; dims=[1,0])\n  %c = mul(%t, %x)\n"
                        "  return %a, %c\n}\n"),
            (Calls{"tanh", "permute", "mul"}));
}

TEST(Fuse, a_view_that_would_be_copied_is_read_in_place) {
  EXPECT_EQ(fused_calls("graph @g(%x: input f32[8,12,4]) {\n"
                        "  %t = permute(%x; dims=[1,0,2])\n  %v = view(%t; size=[96,4])\n"
                        "  %y = sin(%v)\n  return %y\n}\n"),
            Calls{"fused 3"});
}

// What is added up is computed there, and so is what the sums start with, but not from memory.
TEST(Fuse, sums_by_index_compute_what_they_add) {
  const std::string head =
      "graph @g(%i: input i64[30], %x: input f32[30,8], %s: input f32[12,8]) {\n";
  EXPECT_EQ(fused_calls(head + "  %z = full(size=[12,8], fill_value=0.0)\n  %c = cos(%x)\n"
                               "  %y = index_put(%z, [%i], %c; accumulate=true)\n"
                               "  return %y\n}\n"),
            Calls{"fused 3"});
  EXPECT_EQ(fused_calls(head + "  %c = cos(%x)\n"
                               "  %y = index_put(%s, [%i], %c; accumulate=true)\n"
                               "  return %y\n}\n"),
            (Calls{"cos", "index_put"}));
}

// %z would read %t where it reads %x.
TEST(Fuse, what_does_not_fit_a_cache_is_not_read_in_another_order) {
  const auto calls = [](int64_t n) {
    return fused_calls(
        fmt::format("graph @g(%x: input f32[{0},{0}], %t: input f32[{0},{0}]) {{\n"
                    "  %y = tanh(%x)\n  %p = permute(%x; dims=[1,0])\n"
                    "  %z = mul(%p, %t)\n  return %y, %z\n}}\n",
                    n));
  };
  EXPECT_EQ(calls(64), Calls{"fused 3"});
  EXPECT_EQ(calls(1024), (Calls{"tanh", "permute", "mul"}));
}

// %y and %z have rows of other lengths, for which nothing is read again.
TEST(Fuse, a_padded_row_and_a_part_of_it_are_made_with_the_row) {
  const std::string head = "graph @g(%x: input f32[64,48], %u: input f32[64,48]) {\n" + softmax;
  EXPECT_EQ(fused_calls(head + "  %p = constant_pad_nd(%s; pad=[3,5])\n  %y = sin(%p)\n"
                               "  %h = slice(%s; dim=1, start=16, end=32)\n  %z = exp(%h)\n"
                               "  return %s, %y, %z\n}\n"),
            Calls{"fused 9"});
  // Rows that are padded with others are no rows of their own.
  EXPECT_EQ(fused_calls(head + "  %p = constant_pad_nd(%s; pad=[0,0,1,1])\n  %y = sin(%p)\n"
                               "  return %s, %y\n}\n"),
            (Calls{"fused 5", "fused 2"}));
  // A part of the rows is none of each.
  EXPECT_EQ(fused_calls(head + "  %h = slice(%s; dim=0, start=0, end=32)\n  %y = sin(%h)\n"
                               "  return %s, %y\n}\n"),
            (Calls{"fused 5", "slice", "sin"}));
}

// Rows stay rows in the other order, or it is little: else it would be stored element by element.
TEST(Fuse, rows_are_stored_in_another_order) {
  const auto calls = [](const char* shape, const char* dims) {
    return fused_calls(fmt::format(
        "graph @g(%x: input f32[{}]) {{\n{}  %t = permute(%s; dims=[{}])\n  %y = sin(%t)\n"
        "  return %s, %y\n}}\n",
        shape, softmax, dims));
  };
  EXPECT_EQ(calls("64,32,48", "1,0,2"), Calls{"fused 7"});
  EXPECT_EQ(calls("64,32,48", "0,2,1"), (Calls{"fused 5", "permute", "sin"}));
  EXPECT_EQ(calls("8,12", "1,0"), Calls{"fused 7"});
  EXPECT_EQ(calls("640,480", "1,0"), (Calls{"fused 5", "permute", "sin"}));
}

}  // namespace
}  // namespace cleave
