// What depends on no placeholder leaves the program, as a graph of its own.
#include "pass/freeze/constant_values.h"

#include <gtest/gtest.h>

#include "ir/text.h"
#include "pass/freeze/frozen_values.h"
#include "pass/pipeline.h"
#include "test/random_inputs.h"

namespace cleave {
namespace {

const char* const tables =
    "graph @main(%w: param f32[4096], %x: input f32[4096]) {\n"
    "  %i = arange(; end=4096, dtype=f32)\n"
    "  %s = sin(%i)\n"
    "  %e = exp(%w)\n"
    "  %y = mul(%x, %s)\n"
    "  %z = add(%y, %e)\n"
    "  return %z\n"
    "}\n";

bool is_named(const CompileOptions& options) {
  Graph g = test::parsed(tables);
  value_or_throw(run_stage(PassStage::freeze, g, test::core(), options));
  return g.find("_FOLDED_CONST_s").valid();
}

TEST(ConstantValues, a_graph_of_their_own_returns_what_the_program_is_given) {
  Graph g = test::parsed(tables);
  value_or_throw(run_stage(PassStage::freeze, g, test::core(), {}));
  const Graph constants = value_or_throw(take_constants(g));
  EXPECT_TRUE(verify(g).ok());
  EXPECT_EQ(print(constants), print(test::parsed("graph @frozen() {\n"
                                                 "  %i = arange(; end=4096, dtype=f32)\n"
                                                 "  %_FOLDED_CONST_s = sin(%i)\n"
                                                 "  return %_FOLDED_CONST_s\n"
                                                 "}\n")));
  EXPECT_EQ(print(g), print(test::parsed("graph @main(%w: param f32[4096], %x: input f32[4096], "
                                         "%_FOLDED_CONST_s: const f32[4096]) {\n"
                                         "  %e = exp(%w)\n"  // which is frozen in no program here
                                         "  %y = mul(%x, %_FOLDED_CONST_s)\n"
                                         "  %z = add(%y, %e)\n"
                                         "  return %z\n"
                                         "}\n")));
  EXPECT_TRUE(value_or_throw(take_constants(g)).returns().empty());
}

TEST(ConstantValues, from_so_much_work_on) {
  EXPECT_TRUE(is_named({}));
  EXPECT_FALSE(is_named({.passes_off = {"compute_once"}}));
  EXPECT_FALSE(is_named({.passes_on = {"compute_once:least_work:100000"}}));
  EXPECT_FALSE(is_named({.passes_on = {"compute_once:least_flops:100"}}));
  EXPECT_TRUE(is_named({.passes_on = {"compute_once:least_flops:1:least_work:1"}}));
}

Values dear(const std::string& body) {
  const Graph g = test::parsed("graph @g(%x: input f32[4096], %n: input i64[4096]) {\n" + body +
                               "  return %y\n}\n");
  return dear_constants(g, {});
}

TEST(ConstantValues, only_calls_that_give_the_same_in_each_run_and_cannot_fail) {
  EXPECT_EQ(dear("  %i = arange(; end=4096)\n  %f = _to_copy(%i; dtype=f32)\n  %s = exp(%f)\n"
                 "  %y = mul(%x, %s)\n")
                .size(),
            1U);
  // An index out of range is told by the run.
  EXPECT_TRUE(dear("  %i = arange(; end=4096)\n  %f = _to_copy(%i; dtype=f32)\n"
                   "  %s = index_select(%f, %i; dim=0)\n  %y = mul(%x, %s)\n")
                  .empty());
  // 8 bytes for an element: twice the work.
  const std::string f64 = "  %i = arange(; end=4096, dtype=f64)\n  %s = exp(%i)\n";
  EXPECT_TRUE(dear(f64 + "  %y = mul(%x, %s)\n").empty());
  EXPECT_EQ(dear(f64 + "  %c = cos(%s)\n  %y = mul(%x, %c)\n").size(), 1U);
}

}  // namespace
}  // namespace cleave
