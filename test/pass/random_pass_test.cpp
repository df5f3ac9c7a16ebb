// All passes on random graphs: the graph that they make is a good one, computes the same, and is
// left alone by a second run. Strict runs change nothing but constants of f32, which the oracle
// keeps unrounded.
#include <gtest/gtest.h>

#include <algorithm>

#include "ir/edit.h"
#include "pass/pipeline.h"
#include "test/random_inputs.h"
#include "test/sample/check_passes.h"
#include "test/sample/symbolic_graph.h"

namespace cleave::random {
namespace {

using test::core;

TEST(Passes, keep_what_random_graphs_compute) {
  int64_t matches = 0;
  for (uint64_t seed = 0; seed < 150; ++seed) {
    const PassVerdict v = value_or_throw(check_passes(core(), seed, {}));
    EXPECT_EQ(v.wrong, "") << "seed " << seed;
    matches += v.matches;
  }
  EXPECT_GE(matches, 100);
}

TEST(Passes, strict_ones_round_as_before) {
  for (uint64_t seed = 0; seed < 150; ++seed)
    EXPECT_EQ(value_or_throw(check_passes(core(), seed, {.strict = true})).wrong, "")
        << "seed " << seed;
}

TEST(Passes, are_each_at_their_end_after_one_run) {
  for (uint64_t seed = 0; seed < 150; ++seed) {
    RandomGraph r = value_or_throw(pass_graph(core(), seed));
    eliminate_dead_code(r.g);  // which reads what a pass would fold
    for (const PassRow& row : pass_table()) {
      if (row.again) continue;
      const Pass pass = row.pass();
      Graph g = r.g;
      value_or_throw(run_pass(pass, g, core(), {}));
      EXPECT_EQ(value_or_throw(run_pass(pass, g, core(), {})).matches, 0)
          << pass.name << ", seed " << seed << "\n"
          << print(g);
    }
  }
}

TEST(Passes, leave_a_stage_at_its_end_after_one_run) {
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    RandomGraph r = value_or_throw(pass_graph(core(), seed));
    for (const PassStage stage : pass_stages) {
      value_or_throw(run_stage(stage, r.g, core(), {}));
      for (const CompilePass& p : value_or_throw(run_stage(stage, r.g, core(), {})))
        EXPECT_EQ(p.matches, 0) << p.name << ", seed " << seed;
    }
  }
}

TEST(Passes, stand_in_the_order_of_their_lists) {
  const auto place = [](const PassRow& row) { return std::pair(row.stage, row.list); };
  EXPECT_TRUE(std::ranges::is_sorted(pass_table(), {}, place));
}

TEST(Passes, take_symbolic_sizes) {
  int graphs = 0;
  for (uint64_t seed = 0; seed < 150; ++seed) {
    const RandomGraph r = value_or_throw(random_graph(core(), seed, {}));
    std::optional<RandomGraph> symbolic = with_symbol(r, seed);
    if (!symbolic || !verify(symbolic->g).ok()) continue;
    ++graphs;
    const Result<int64_t> n = run_all_stages(symbolic->g, core(), {});
    ASSERT_TRUE(n.ok()) << "seed " << seed << ": " << n.failure().message << "\n"
                        << print(symbolic->g);
  }
  EXPECT_GE(graphs, 20);
}

}  // namespace
}  // namespace cleave::random
