// What the calls of a lowered program read, make and need, from which the tasks of budgets are
// made.
// tests: plan_program.cpp
#include "compile/program_calls.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "backend/make_backend.h"
#include "base/alignment.h"
#include "compile/plan_program.h"
#include "test/prepared.h"

namespace cleave {
namespace {

struct Calls {
  Graph graph;
  ProgramCalls program;

  const ProgramCalls::Call& call(const std::string& result) const {
    const NodeId maker = graph.value(graph.find(result)).def;
    return *std::ranges::find(program.calls, maker, &ProgramCalls::Call::node);
  }
  // Names of the values that a call makes; "-" for a storage that is no result of the call.
  std::vector<std::string> made_by(const std::string& result) const {
    std::vector<std::string> out;
    for (const int32_t s : call(result).makes) {
      const ValueId v = program.storages[static_cast<size_t>(s)].value;
      out.push_back(v.valid() ? graph.name(v) : "-");
    }
    return out;
  }
  // Bytes that a call reads, without placeholders.
  int64_t bytes_read_by(const std::string& result) const {
    int64_t bytes = 0;
    for (const int32_t s : call(result).reads)
      bytes += rounded(program.storages[static_cast<size_t>(s)].bytes);
    return bytes;
  }
};

Calls calls_of(const std::string& text) {
  Calls out{test::parsed(text), {}};
  value_or_throw(test::prepare(out.graph, false, {.passes_off = {"all"}}));
  const std::shared_ptr<Backend> backend = make_backend(Target::here());
  const MeasuredProgram plan = value_or_throw(measure_program(out.graph, *backend, Save::nothing));
  out.program = program_calls(out.graph, plan.lowered);
  return out;
}

constexpr int64_t matrix = 64 * 64 * 4;

TEST(ProgramCalls, calls_read_what_others_make) {
  const Calls s = calls_of(
      "graph @main(%x: input f32[64,64]) {\n"
      "  %a = mm(%x, %x)\n  %t = permute(%a; dims=[1,0])\n  %b = mm(%t, %a)\n  return %b\n}\n");
  ASSERT_EQ(s.program.calls.size(), 2u);  // a view is no call
  EXPECT_EQ(s.made_by("a"), std::vector<std::string>{"a"});
  EXPECT_EQ(s.bytes_read_by("a"), 0);       // it reads only placeholders
  EXPECT_EQ(s.bytes_read_by("b"), matrix);  // once, though both operands are %a
  EXPECT_GE(s.call("b").at_least, 2 * matrix);
  EXPECT_EQ(s.program.placeholder_bytes, matrix);
}

// %y may be written over %a, which nothing else reads: the lower bound counts one of them.
TEST(ProgramCalls, a_result_over_its_operand_counts_once) {
  const Calls s = calls_of(
      "graph @main(%x: input f32[64,64]) {\n"
      "  %a = mm(%x, %x)\n  %y = exp(%a)\n  %b = mm(%y, %x)\n  return %b\n}\n");
  EXPECT_EQ(s.bytes_read_by("y"), matrix);
  EXPECT_EQ(s.call("y").at_least, matrix);
}

// Another program may make each of two results with a separate call.
TEST(ProgramCalls, of_several_results_the_largest_storage_is_sure) {
  const Calls s = calls_of(
      "graph @body(%a: input f32[64,64]) {\n"
      "  %e = exp(%a)\n  %r = sum(%e; dim=[1])\n  return %e, %r\n}\n"
      "graph @main(%x: input f32[64,64]) {\n"
      "  %a = mm(%x, %x)\n  %e, %r = fused([%a]; body=@body)\n  %b = mm(%e, %x)\n"
      "  return %b, %r\n}\n");
  EXPECT_EQ(s.made_by("e"), (std::vector<std::string>{"e", "r"}));
  EXPECT_EQ(s.call("e").at_least, matrix);
}

// A program that converts %x for the product alone reads it without a conversion, with another
// workspace: the lower bound counts %d and %p.
TEST(ProgramCalls, conversions_and_workspaces_of_a_product_are_not_sure) {
  const Calls s = calls_of(
      "graph @main(%x: input f16[64,64], %w: input f32[64,64]) {\n"
      "  %c = _to_copy(%x; dtype=f32)\n  %d = exp(%w)\n  %p = mm(%c, %d)\n"
      "  %r = add(%p, %c)\n  return %r\n}\n");
  EXPECT_EQ(s.bytes_read_by("p"), 2 * matrix);
  EXPECT_GT(s.call("p").workspace, 0);
  EXPECT_EQ(s.call("p").at_least, 2 * matrix);
}

// Another program may make the operands in the result.
TEST(ProgramCalls, of_a_join_its_result_is_sure) {
  const Calls s = calls_of(
      "graph @main(%x: input f32[64,64]) {\n"
      "  %a = mm(%x, %x)\n  %b = sin(%a)\n  %z = cat([%a, %b])\n  %c = mm(%b, %a)\n"
      "  return %z, %c\n}\n");
  EXPECT_EQ(s.bytes_read_by("z"), 2 * matrix);
  EXPECT_EQ(s.call("z").at_least, 2 * matrix);
}

// On its own %a may be written over an operand.
TEST(ProgramCalls, a_part_of_another_storage_is_not_sure) {
  const Calls s = calls_of(
      "graph @main(%x: input f32[64,64], %w: input f32[64,64]) {\n"
      "  %a = sin(%x)\n  %b = mm(%x, %w)\n  %z = cat([%a, %b])\n  return %z\n}\n");
  ASSERT_EQ(s.program.calls.size(), 2u);
  EXPECT_EQ(s.made_by("a"), std::vector<std::string>{"a"});
  EXPECT_EQ(s.call("a").at_least, 0);
}

// %w is read after %n, which is copied at the end; in another order it is written in place.
TEST(ProgramCalls, an_update_that_is_copied_is_not_sure) {
  const Calls s = calls_of(
      "graph @main(%w: param f32[64,64], %x: input f32[64,64]) {\n"
      "  %p = mm(%x, %x)\n  %n = mm(%w, %p)\n  %q = mul(%w, %p)\n"
      "  return %q, %n -> %w\n}\n");
  EXPECT_EQ(s.made_by("n"), std::vector<std::string>{"n"});
  EXPECT_EQ(s.call("n").at_least, matrix);  // %p
}

TEST(ProgramCalls, updates_in_place_take_no_memory) {
  const Calls s = calls_of(
      "graph @main(%w: param f32[64,64], %x: input f32[64,64]) {\n"
      "  %p = mm(%x, %x)\n  %n = add(%w, %p)\n  return %n -> %w\n}\n");
  const ProgramCalls::Call& update = s.call("n");
  ASSERT_EQ(update.updates.size(), 1u);
  EXPECT_TRUE(s.program.storages[static_cast<size_t>(update.updates[0])].placeholder);
  EXPECT_TRUE(update.makes.empty());
  EXPECT_EQ(update.at_least, matrix);  // %p
}

TEST(ProgramCalls, a_placeholder_that_is_returned_is_copied_at_the_end) {
  const Calls s =
      calls_of("graph @main(%x: input f32[64,64]) {\n  %y = sin(%x)\n  return %x, %y\n}\n");
  EXPECT_EQ(s.program.copied_at_end, matrix);
}

TEST(ProgramCalls, checks_and_views_of_placeholders) {
  const Calls s = calls_of(
      "graph @main(%x: input f32[64,64], %i: input i64[8], %q: input f32[1,1,8,16],"
      " %rng: rng_state i64[2]) {\n"
      "  %e = index_select(%x, %i; dim=0)\n"
      "  %o, %l, %seed, %offset = _scaled_dot_product_efficient_attention(%q, %q, %q, none, %rng;"
      " compute_log_sumexp=true, dropout_p=0.5)\n"
      "  %f = _to_copy(%seed; dtype=f32)\n  %g = exp(%f)\n  return %e, %o, %g\n}\n");
  EXPECT_TRUE(s.call("e").may_fail);
  EXPECT_FALSE(s.call("o").may_fail);
  // %seed is a view of %rng; its reader comes after the call all the same.
  const std::vector<std::string> made = s.made_by("o");
  EXPECT_NE(std::ranges::find(made, "seed"), made.end());
  EXPECT_EQ(s.bytes_read_by("f"), 0);
  const auto& makes = s.call("o").makes;
  EXPECT_TRUE(std::ranges::any_of(s.call("f").reads, [&](int32_t read) {
    return std::ranges::find(makes, read) != makes.end();
  }));
}

}  // namespace
}  // namespace cleave
