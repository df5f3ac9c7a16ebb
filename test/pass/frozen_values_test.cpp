// What a frozen program computes once leaves it, as a graph of its own.
#include "pass/freeze/frozen_values.h"

#include <gtest/gtest.h>

#include "ir/text.h"
#include "pass/pipeline.h"
#include "test/random_inputs.h"

namespace cleave {
namespace {

TEST(FrozenValues, a_graph_of_their_own_returns_what_the_program_is_given) {
  Graph g = test::parsed(
      "graph @main(%w: param f32[4,8], %v: buffer f32[8,3], %b: param f32[3], %x: input f32[2,4]) "
      "{\n"
      "  %_FOLDED_CONST_c = mm(%w, %v)\n"
      "  %e = exp(%v)\n"
      "  %y = mm(%x, %_FOLDED_CONST_c)\n"
      "  %z = add(%y, %b)\n"
      "  return %z, %_FOLDED_CONST_c, %e\n"
      "}\n");
  const Graph frozen = value_or_throw(take_frozen(g));
  EXPECT_TRUE(verify(frozen).ok());
  EXPECT_TRUE(verify(g).ok());
  EXPECT_EQ(print(frozen),
            print(test::parsed("graph @frozen(%w: param f32[4,8], %v: buffer f32[8,3]) {\n"
                               "  %_FOLDED_CONST_c = mm(%w, %v)\n"
                               "  return %_FOLDED_CONST_c\n"
                               "}\n")));
  EXPECT_EQ(print(g),
            print(test::parsed("graph @main(%v: buffer f32[8,3], %b: param f32[3], %x: input "
                               "f32[2,4], %_FOLDED_CONST_c: const f32[4,3]) {\n"
                               "  %e = exp(%v)\n"  // which fold_frozen hasn't named
                               "  %y = mm(%x, %_FOLDED_CONST_c)\n"
                               "  %z = add(%y, %b)\n"
                               "  return %z, %_FOLDED_CONST_c, %e\n"
                               "}\n")));
  const Graph again = value_or_throw(take_frozen(g));
  EXPECT_TRUE(again.returns().empty());
}

TEST(FrozenValues, run_in_frozen_programs_or_where_they_are_asked_for) {
  const std::string text =
      "graph @main(%w: param f32[8], %x: input f32[8]) {\n  %e = exp(%w)\n  %y = add(%x, %e)\n"
      "  return %y\n}\n";
  const auto folds = [&](const CompileOptions& options) {
    Graph g = test::parsed(text);
    value_or_throw(run_stage(PassStage::freeze, g, test::core(), options));
    return g.find("_FOLDED_CONST_e").valid();
  };
  EXPECT_FALSE(folds({}));
  EXPECT_TRUE(folds({.freeze = true}));
  EXPECT_TRUE(folds({.passes_on = {"fold_frozen"}}));
  EXPECT_FALSE(folds({.passes_off = {"fold_frozen"}, .freeze = true}));
}

}  // namespace
}  // namespace cleave
