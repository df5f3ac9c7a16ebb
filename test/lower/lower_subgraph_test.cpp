// Branches and loops as thunks and jumps.
// tests: lower_branch.cpp lower_loop.cpp lower_node.cpp
#include <gtest/gtest.h>

#include "test/lower/lowered.h"

namespace cleave {
namespace {

using Lines = std::vector<std::string>;

// A line a thunk: its name, or where it jumps to, with `unless` where it asks for a flag.
Lines thunks_of(const LoweredProgram& p) {
  Lines out;
  for (const Thunk& s : p.thunks)
    if (const auto* j = std::get_if<JumpCall>(&s.work))
      out.push_back(fmt::format("jump {}{}", j->target, j->unless ? " unless" : ""));
    else
      out.push_back(s.name);
  return out;
}

const KernelCall& kernel_call(const LoweredProgram& p, size_t thunk) {
  return std::get<KernelCall>(p.thunks[thunk].work);
}

TEST(LowerBranch, arms_write_the_results_of_the_call) {
  const LoweredProgram p = test::lowered(
      "graph @then(%x: input f32[8]) {\n  %u = sin(%x)\n  return %u\n}\n"
      "graph @otherwise(%x: input f32[8]) {\n  %v = exp(%x)\n  return %v\n}\n"
      "graph @g(%c: input bool[], %a: input f32[8]) {\n"
      "  %y = cond(%c, [%a]; then=@then, otherwise=@otherwise)\n  return %y\n}\n");
  EXPECT_EQ(thunks_of(p), (Lines{"jump 3 unless", "u", "jump 4", "v"}));
  for (const size_t thunk : {1, 3})
    EXPECT_EQ(kernel_call(p, thunk).storages, (std::vector<size_t>{1, p.returns[0]}));
}

// What is returned as it came lies in memory of its own nevertheless.
TEST(LowerBranch, an_operand_that_is_returned_is_copied) {
  const LoweredProgram p = test::lowered(
      "graph @then(%x: input f32[8]) {\n  return %x\n}\n"
      "graph @otherwise(%x: input f32[8]) {\n  %v = exp(%x)\n  return %v\n}\n"
      "graph @g(%c: input bool[], %a: input f32[8]) {\n"
      "  %y = cond(%c, [%a]; then=@then, otherwise=@otherwise)\n  return %y\n}\n");
  EXPECT_EQ(thunks_of(p), (Lines{"jump 3 unless", "y", "jump 4", "v"}));
  EXPECT_TRUE(kernel_call(p, 1).whole_copy);
}

const std::string less =
    "graph @less(%i: input i64[], %x: input f32[8], %y: input f32[8]) {\n"
    "  %c = lt(%i; other=9)\n  return %c\n}\n";
const std::string next = "graph @next(%i: input i64[], %x: input f32[8], %y: input f32[8]) {\n";
const std::string main_graph =
    "graph @g(%i: input i64[], %a: input f32[8], %b: input f32[8]) {\n"
    "  %n, %p, %q = while_loop([%i, %a, %b]; condition=@less, body=@next)\n"
    "  return %n, %p, %q\n}\n";

// %s, which is made last, is written over %x at once; %y stays.
TEST(LowerLoop, a_value_is_made_in_the_place_of_the_one_before) {
  const LoweredProgram p = test::lowered(
      less + next + "  %j = add(%i; other=1)\n  %s = mul(%x, %y)\n  return %j, %s, %y\n}\n" +
      main_graph);
  EXPECT_EQ(thunks_of(p), (Lines{"n", "p", "q", "c", "jump 8 unless", "j", "s", "jump 3"}));
  EXPECT_EQ(kernel_call(p, 6).storages[0], p.returns[1]);
}

// %y to memory of its own, %x over %y, and that over %x.
TEST(LowerLoop, values_that_change_places_are_put_aside) {
  const LoweredProgram p =
      test::lowered(less + next + "  %j = add(%i; other=1)\n  return %j, %y, %x\n}\n" + main_graph);
  EXPECT_EQ(thunks_of(p),
            (Lines{"n", "p", "q", "c", "jump 10 unless", "j", "p", "q", "p", "jump 3"}));
  const size_t x = p.returns[1], y = p.returns[2], aside = kernel_call(p, 6).storages[1];
  EXPECT_EQ(kernel_call(p, 6).storages, (std::vector<size_t>{y, aside}));
  EXPECT_EQ(kernel_call(p, 7).storages, (std::vector<size_t>{x, y}));
  EXPECT_EQ(kernel_call(p, 8).storages, (std::vector<size_t>{aside, x}));
}

}  // namespace
}  // namespace cleave
