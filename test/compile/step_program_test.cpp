// What the calls of a lowered program read, make and need, from which the tasks of budgets are
// made.
#include "compile/step_program.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "backend/make_backend.h"
#include "base/alignment.h"
#include "compile/plan_program.h"
#include "test/prepared.h"

namespace cleave {
namespace {

struct Steps {
  Graph graph;
  StepProgram program;

  const StepProgram::Call& call(const std::string& result) const {
    const NodeId maker = graph.value(graph.find(result)).def;
    return *std::ranges::find(program.calls, maker, &StepProgram::Call::node);
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

Steps steps_of(const std::string& text) {
  Steps out{test::parsed(text), {}};
  value_or_throw(test::prepare(out.graph, false, {.passes_off = {"all"}}));
  const std::shared_ptr<Backend> backend = make_backend(Target::here());
  const MeasuredProgram plan = value_or_throw(measure_program(out.graph, *backend, Save::nothing));
  out.program = step_program(out.graph, plan.lowered);
  return out;
}

constexpr int64_t matrix = 64 * 64 * 4;

TEST(StepProgram, calls_read_what_others_make) {
  const Steps s = steps_of(
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
TEST(StepProgram, a_result_over_its_operand_counts_once) {
  const Steps s = steps_of(
      "graph @main(%x: input f32[64,64]) {\n"
      "  %a = mm(%x, %x)\n  %y = exp(%a)\n  %b = mm(%y, %x)\n  return %b\n}\n");
  EXPECT_EQ(s.bytes_read_by("y"), matrix);
  EXPECT_EQ(s.call("y").at_least, matrix);
}

// Another program may make each of two results with a separate call.
TEST(StepProgram, of_several_results_the_largest_storage_is_sure) {
  const Steps s = steps_of(
      "graph @body(%a: input f32[64,64]) {\n"
      "  %e = exp(%a)\n  %r = sum(%e; dim=[1])\n  return %e, %r\n}\n"
      "graph @main(%x: input f32[64,64]) {\n"
      "  %a = mm(%x, %x)\n  %e, %r = fused([%a]; body=@body)\n  %b = mm(%e, %x)\n"
      "  return %b, %r\n}\n");
  EXPECT_EQ(s.made_by("e"), (std::vector<std::string>{"e", "r"}));
  EXPECT_EQ(s.call("e").at_least, matrix);
}

TEST(StepProgram, updates_in_place_take_no_memory) {
  const Steps s = steps_of(
      "graph @main(%w: param f32[64,64], %x: input f32[64,64]) {\n"
      "  %p = mm(%x, %x)\n  %n = add(%w, %p)\n  return %n -> %w\n}\n");
  const StepProgram::Call& update = s.call("n");
  ASSERT_EQ(update.updates.size(), 1u);
  EXPECT_TRUE(s.program.storages[static_cast<size_t>(update.updates[0])].placeholder);
  EXPECT_TRUE(update.makes.empty());
  EXPECT_EQ(update.at_least, matrix);  // %p
}

TEST(StepProgram, a_placeholder_that_is_returned_is_copied_at_the_end) {
  const Steps s =
      steps_of("graph @main(%x: input f32[64,64]) {\n  %y = sin(%x)\n  return %x, %y\n}\n");
  EXPECT_EQ(s.program.copied_at_end, matrix);
}

TEST(StepProgram, checks_and_views_of_placeholders) {
  const Steps s = steps_of(
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
