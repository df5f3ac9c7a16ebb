// Running some of the stages gives the same graph as running all of them up to there.
#include "compile/stages.h"

#include <gtest/gtest.h>

#include "exec/executable.h"
#include "ir/text.h"
#include "test/random_inputs.h"
#include "test/sample/random_graph.h"

namespace cleave {
namespace {

using test::core;

TEST(Stages, a_part_is_the_beginning_of_the_whole) {
  int compared = 0;
  for (uint64_t seed = 0; seed < 24; ++seed) {
    const random::RandomGraph r = value_or_throw(random::with_gradients(
        value_or_throw(random::random_graph(core(), seed, {})), core(), seed));
    StageOptions options;
    options.compiler = CompilerChoice::none;
    if (seed % 3 == 0) options.passes_off = {"all"};
    options.fuse = seed % 4 != 1;
    if (seed % 2 == 1) options.memory_budget = MemoryBudget::percent(100);
    Graph part = r.g;
    Report report;
    const Status s = run_stages(Stage::verify, Stage::fuse, part, core(), options, &report);
    const auto whole = CompiledProgram::compile(r.g, core(), options);
    if (!whole.ok()) continue;
    ASSERT_TRUE(s.ok()) << s.failure().message;
    EXPECT_EQ(print(part), print((*whole)->graph())) << "seed " << seed;
    ASSERT_LT(report.stages.size(), (*whole)->report().stages.size());
    for (size_t k = 0; k < report.stages.size(); ++k)
      EXPECT_EQ(report.stages[k].name, (*whole)->report().stages[k].name);
    ++compared;
  }
  EXPECT_GT(compared, 12);
}

// Running stages in two parts equals running them at once.
TEST(Stages, parts_join) {
  const Graph forward = test::parsed(
      "graph @main(%x: input f32[4,8] grad, %w: param f32[8,8] grad) {\n"
      "  %h = mm(%x, %w)\n  %t = tanh(%h)\n  %y = sum(%t; dim=[1])\n  return %y\n}\n");
  StageOptions options;
  options.autocast = DType::bf16;
  options.grad = true;
  Graph once = forward, twice = forward;
  value_or_throw(run_stages(Stage::autocast, Stage::fuse, once, core(), options));
  value_or_throw(run_stages(Stage::autocast, Stage::pre_grad, twice, core(), options));
  EXPECT_FALSE(twice.is_joint());
  value_or_throw(run_stages(Stage::grad, Stage::grad, twice, core(), options));
  EXPECT_TRUE(twice.is_joint());
  value_or_throw(run_stages(Stage::verify, Stage::fuse, twice, core(), options));
  EXPECT_EQ(print(once), print(twice));
}

TEST(Stages, code_is_not_of_the_graph) {
  Graph g = test::parsed("graph @main(%x: input f32[4]) {\n  %y = sin(%x)\n  return %y\n}\n");
  const Status s = run_stages(Stage::verify, Stage::lower, g, core(), {});
  ASSERT_FALSE(s.ok());
  EXPECT_EQ(s.failure().message, "stages: lower is no stage of the graph");
}

}  // namespace
}  // namespace cleave
