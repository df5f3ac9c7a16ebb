// Which values are written directly into the result of a cat, and that the programs are correct.
// tests: lower_join.cpp undo_view.cpp
#include "lower/place.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "lower/plan_memory.h"
#include "lower/run_early.h"
#include "lower/save_memory.h"
#include "lower/thunk_uses.h"
#include "lower/update_in_place.h"
#include "test/lower/lowered.h"
#include "test/sample/check_graph.h"

namespace cleave {
namespace {

using test::core;
using test::decomposed;
using test::lowered;
using test::parsed;

// Compiled, fused, with all that saves memory, against the oracle.
void expect_right(const std::string& text) {
  random::RandomGraph r{parsed(text), {}};
  uint64_t seed = 7;
  for (const Placeholder& p : r.g.placeholders())
    r.inputs.push_back(law::random_weights(r.g.type(p.value), seed++));
  EXPECT_EQ(value_or_throw(random::check_graph(r, core())).difference, "") << text;
}

const std::string header =
    "graph @g(%a: input f32[8,8], %b: input f32[8,8], %t: buffer f32[16,8]) {\n";

using Names = std::vector<std::string>;

// Of values that have a place, in the graph's order.
Names placed(const std::string& body) {
  const std::string text = header + body + "}\n";
  expect_right(text);
  const Graph g = decomposed(text);
  const Places places = place_values(g);
  Names out;
  for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n))
    for (uint32_t k = 0; k < g.node(n).output_count; ++k)
      if (places.contains(g.node(n).out(k).v)) out.push_back(g.name(g.node(n).out(k)));
  return out;
}

Names thunk_names(const LoweredProgram& p) {
  Names out;
  for (const Thunk& s : p.thunks) out.push_back(s.name);
  return out;
}

const LibraryCall::Operand& operand(const LibraryCall& call, size_t position) {
  return *std::ranges::find(call.operands, position, &LibraryCall::Operand::position);
}

TEST(Place, products_reductions_and_elementwise_calls_are_made_in_the_cat) {
  EXPECT_EQ(placed("  %x = mm(%a, %a)\n  %y = sin(%b)\n  %s = sum(%b; dim=[0], keepdim=true)\n"
                   "  %z = cat([%x, %y, %s])\n  return %z\n"),
            (Names{"x", "y", "s"}));
}

TEST(Place, the_thunks_write_their_parts_and_the_cat_is_none) {
  const LoweredProgram p =
      lowered(header + "  %y = sin(%b)\n  %x = mm(%a, %a)\n  %z = cat([%y, %x])\n  return %z\n}\n");
  EXPECT_EQ(thunk_names(p), (Names{"y", "x"}));
  const auto& product = std::get<LibraryCall>(p.thunks[1].work);
  const LibraryCall::Operand& c = operand(product, GemmOperand::c);
  EXPECT_EQ(c.storage, p.returns[0]);
  EXPECT_EQ(c.layout.offset, 64);
  EXPECT_TRUE(writes(p, p.thunks[0], p.returns[0]));
  EXPECT_EQ(p.storages[p.returns[0]].elements, 128);
  EXPECT_EQ(p.storages[p.returns[0]].parts.size(), 2u);
}

TEST(Place, rows_between_those_of_others) {
  EXPECT_EQ(placed("  %x = sin(%a)\n  %y = sum(%b; dim=[1], keepdim=true)\n"
                   "  %z = cat([%x, %y]; dim=1)\n  return %z\n"),
            (Names{"x", "y"}));
}

TEST(Place, after_views) {
  EXPECT_EQ(placed("  %x = sin(%a)\n  %p = permute(%x; dims=[1,0])\n  %v = view(%p; size=[2,4,8])\n"
                   "  %m = mm(%b, %b)\n  %w = view(%m; size=[2,4,8])\n"
                   "  %z = cat([%v, %w]; dim=0)\n  return %z\n"),
            (Names{"x", "m"}));
}

TEST(Place, a_view_without_a_layout_to_undo_it_is_copied) {
  // Along dim 1 the rows of %v are apart: as [8,8] they are no rows of one stride.
  EXPECT_EQ(placed("  %x = sin(%a)\n  %v = view(%x; size=[16,4])\n  %y = sin(%t)\n"
                   "  %z = cat([%v, %y]; dim=1)\n  return %z\n"),
            (Names{"y"}));
}

TEST(Place, a_number_is_copied) {
  EXPECT_EQ(placed("  %x = sum(%a; dim=[0,1])\n  %v = view(%x; size=[1])\n  %y = sum(%b; dim=[1])\n"
                   "  %z = cat([%v, %y])\n  return %z\n"),
            (Names{"y"}));
}

// Rows of heads become rows again: written so, nothing is copied.
TEST(Place, what_a_view_wants) {
  EXPECT_EQ(
      placed("  %v = view(%a; size=[2,4,8])\n  %x = sin(%v)\n  %p = permute(%x; dims=[1,0,2])\n"
             "  %r = view(%p; size=[4,16])\n  return %r\n"),
      (Names{"x"}));
  // Its own rows would be taken apart.
  EXPECT_EQ(placed("  %x = sin(%a)\n  %p = permute(%x; dims=[1,0])\n  %r = view(%p; size=[64])\n"
                   "  return %r\n"),
            Names{});
  // Others read it too.
  EXPECT_EQ(
      placed("  %v = view(%a; size=[2,4,8])\n  %x = sin(%v)\n  %p = permute(%x; dims=[1,0,2])\n"
             "  %r = view(%p; size=[4,16])\n  return %r, %x\n"),
      Names{});
}

TEST(Place, a_cat_of_a_cat) {
  EXPECT_EQ(placed("  %x = mm(%a, %a)\n  %y = mm(%a, %b)\n  %c = cat([%x, %y])\n  %s = mm(%b, %b)\n"
                   "  %z = cat([%c, %s])\n  return %z\n"),
            (Names{"x", "y", "c", "s"}));
}

TEST(Place, attention_writes_its_gradients_into_one_tensor) {
  const std::string text =
      "graph @g(%q: input f32[2,2,4,8], %k: input f32[2,2,4,8], %v: input f32[2,2,4,8], "
      "%d: input f32[2,2,4,8]) {\n"
      "  %y, %l, %s, %o = _scaled_dot_product_efficient_attention(%q, %k, %v; "
      "compute_log_sumexp=true)\n"
      "  %dq, %dk, %dv, %dm = _scaled_dot_product_efficient_attention_backward(%d, %q, %k, %v, "
      "none, "
      "%y, %l, %s, %o; dropout_p=0.0, grad_input_mask=[true,true,true,false])\n"
      "  %z = cat([%dq, %dk, %dv])\n  %p = permute(%z; dims=[1,2,0,3])\n  %r = view(%p; "
      "size=[8,48])\n  return %r\n}\n";
  expect_right(text);
  const LoweredProgram p = lowered(text);
  const LibraryCall* attention = nullptr;
  for (const Thunk& thunk : p.thunks)
    if (const auto* call = std::get_if<LibraryCall>(&thunk.work);
        call && std::holds_alternative<AttentionBackwardSpec>(call->spec))
      attention = call;
  ASSERT_TRUE(attention);
  using At = AttentionOperand;
  EXPECT_EQ(operand(*attention, At::dquery).storage, operand(*attention, At::dvalue).storage);
  // After both of dq in each row.
  EXPECT_EQ(operand(*attention, At::dkey).layout.offset, 16);
  EXPECT_EQ(std::get<AttentionBackwardSpec>(attention->spec).dkey.row, 48);
  EXPECT_EQ(p.thunks.back().name, "dq");
}

TEST(Place, what_another_call_reads_is_copied) {
  EXPECT_EQ(placed("  %x = mm(%a, %a)\n  %y = mm(%a, %b)\n  %z = cat([%x, %y])\n"
                   "  %r = mm(%x, %b)\n  return %z, %r\n"),
            (Names{"y"}));
}

TEST(Place, a_value_twice_in_a_cat_is_copied) {
  EXPECT_EQ(placed("  %x = mm(%a, %a)\n  %y = mm(%a, %b)\n  %z = cat([%x, %x, %y])\n  return %z\n"),
            (Names{"y"}));
}

TEST(Place, what_is_returned_itself_is_copied) {
  EXPECT_EQ(placed("  %x = mm(%a, %a)\n  %y = mm(%a, %b)\n  %v = view(%y; size=[8,8])\n"
                   "  %z = cat([%x, %v])\n  return %z, %x, %v\n"),
            Names{});
}

TEST(Place, placeholders_and_parts_of_values_are_copied) {
  EXPECT_EQ(placed("  %x = mm(%a, %a)\n  %v = slice(%x; dim=0, start=0, end=4)\n  %y = mm(%a, %b)\n"
                   "  %z = cat([%v, %a, %y])\n  return %z\n"),
            (Names{"y"}));
}

// Of any left sides, beside each other.
TEST(Place, a_product_writes_its_columns) {
  EXPECT_EQ(placed("  %x = mm(%a, %a)\n  %y = sin(%b)\n  %z = cat([%x, %y]; dim=1)\n  return %z\n"),
            (Names{"x", "y"}));
  EXPECT_EQ(placed("  %x = mm(%a, %a)\n  %y = addmm(%b, %b, %a)\n  %z = cat([%x, %y]; dim=1)\n"
                   "  return %z\n"),
            (Names{"x", "y"}));
  // Turned it would have to be written by columns.
  EXPECT_EQ(placed("  %x = mm(%a, %a)\n  %p = permute(%x; dims=[1,0])\n  %y = sin(%b)\n"
                   "  %z = cat([%p, %y])\n  return %z\n"),
            (Names{"y"}));
}

TEST(Place, a_border_writes_memory_of_its_own) {
  EXPECT_EQ(placed("  %x = opaque(%a)\n  %y = sin(%b)\n  %z = cat([%x, %y])\n  return %z\n"),
            (Names{"y"}));
}

TEST(Place, operands_of_other_dtypes_are_converted) {
  EXPECT_EQ(placed("  %x = mm(%a, %a)\n  %h = _to_copy(%b; dtype=bf16)\n"
                   "  %z = cat([%x, %h])\n  return %z\n"),
            Names{});
}

TEST(Place, what_is_made_long_before_is_copied) {
  std::string body = "  %x = mm(%a, %a)\n  %y0 = mm(%a, %b)\n";
  for (int i = 0; i < 20; ++i) body += fmt::format("  %y{} = mm(%y{}, %b)\n", i + 1, i);
  EXPECT_EQ(placed(body + "  %z = cat([%x, %y20])\n  return %z\n"), (Names{"y20"}));
}

// Parts that are written one after the other, where the second one reads what is to be updated.
TEST(Place, an_update_waits_until_its_placeholder_is_read) {
  const auto thunks = [](const std::string& body) {
    const std::string text = header + body + "}\n";
    expect_right(text);
    LoweredProgram p = lowered(text);
    update_in_place(p);
    EXPECT_TRUE(save_memory(p).ok());
    return thunk_names(p);
  };
  const std::string reads = "  %h = slice(%t; dim=0, start=0, end=8)\n";
  EXPECT_EQ(
      thunks("  %x = mm(%a, %a)\n  %y = mm(%a, %b)\n  %z = cat([%x, %y])\n  return %z -> %t\n"),
      (Names{"x", "y"}));
  EXPECT_EQ(thunks(reads + "  %x = mm(%h, %a)\n  %y = mm(%a, %b)\n  %z = cat([%y, %x])\n"
                           "  return %z -> %t\n"),
            (Names{"x", "y", "t"}));
  EXPECT_EQ(thunks(reads + "  %y = mm(%a, %b)\n  %x = sin(%h)\n  %z = cat([%x, %y])\n"
                           "  return %z -> %t\n"),
            (Names{"y", "x", "t"}));
}

// Neither a branch's result nor what goes into one is a part; inside of a subgraph cats are as
// everywhere.
TEST(Place, subgraphs) {
  const std::string arms =
      "graph @then(%x: input f32[8,8], %y: input f32[8,8]) {\n  %p = mm(%x, %y)\n  %q = mm(%y, "
      "%x)\n"
      "  %z = cat([%p, %q])\n  return %z, %y\n}\n"
      "graph @otherwise(%x: input f32[8,8], %y: input f32[8,8]) {\n  %p = mm(%x, %y)\n"
      "  %z = cat([%x, %p])\n  return %z, %p\n}\n";
  const std::string text =
      arms +
      "graph @g(%c: input bool[], %a: input f32[8,8], %b: input f32[8,8]) {\n  %m = mm(%a, %b)\n"
      "  %u, %v = cond(%c, [%m, %b]; then=@then, otherwise=@otherwise)\n  %w = mm(%b, %b)\n"
      "  %z = cat([%u, %v, %w])\n  return %z\n}\n";
  expect_right(text);
  const Graph g = decomposed(text);
  const Places places = place_values(g);
  EXPECT_EQ(places.size(), 1u);
  EXPECT_TRUE(places.contains(g.find("w").v));
}

TEST(Place, in_a_loop) {
  const std::string text =
      "graph @more(%i: input i64[], %x: input f32[16,8]) {\n  %c = lt(%i; other=3)\n  return "
      "%c\n}\n"
      "graph @body(%i: input i64[], %x: input f32[16,8]) {\n  %j = add(%i; other=1)\n"
      "  %h = slice(%x; dim=0, start=0, end=8)\n  %l = slice(%x; dim=0, start=8, end=16)\n"
      "  %p = sin(%l)\n  %q = mm(%h, %l)\n  %z = cat([%p, %q])\n  return %j, %z\n}\n"
      "graph @g(%i: input i64[], %x: input f32[16,8]) {\n"
      "  %n, %y = while_loop([%i, %x]; condition=@more, body=@body)\n  return %n, %y\n}\n";
  expect_right(text);
}

// Parts don't wait for one another: each runs after what it reads.
TEST(Place, parts_run_early_each_for_itself) {
  LoweredProgram p = lowered(
      "graph @g(%a: input f32[64,64], %b: input f32[64,64]) {\n  %p = mm(%a, %a)\n"
      "  %q = mm(%a, %p)\n  %x = sum(%q; dim=[0], keepdim=true)\n"
      "  %y = sum(%b; dim=[0], keepdim=true)\n  %z = cat([%x, %y])\n"
      "  %t = mm(%b, %b)\n  %u = mm(%t, %b)\n  %v = mm(%t, %u)\n  return %z, %v\n}\n");
  run_early(p);
  EXPECT_EQ(thunk_names(p), (Names{"p", "y", "q", "x", "t", "u", "v"}));
}

TEST(Place, a_part_takes_memory_of_the_whole_alone) {
  const auto peak = [](const std::string& body) {
    const Graph g = decomposed("graph @g(%a: input f32[64,64]) {\n" + body + "}\n");
    LoweredProgram p = value_or_throw(lower_graph(g));
    return measure_memory(p).arena;
  };
  EXPECT_EQ(peak("  %x = mm(%a, %a)\n  %y = sin(%a)\n  %z = cat([%x, %y])\n  return %z\n"),
            2 * 64 * 64 * 4);
}

}  // namespace
}  // namespace cleave
