// All passes on random graphs: the graph that they make is a good one, computes the same, and is
// left alone by a second run. Strict runs change nothing but constants of f32, which the oracle
// keeps unrounded.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "interp/interpret.h"
#include "ir/edit.h"
#include "pass/pipeline.h"
#include "test/random_inputs.h"
#include "test/sample/check_graph.h"
#include "test/sample/sample_call.h"
#include "test/sample/symbolic_graph.h"

namespace cleave::random {
namespace {

using test::core;

Result<int64_t> run_all(Graph& g, const PassOptions& options) {
  int64_t matches = 0;
  for (const PassStage stage : pass_stages) {
    CLEAVE_TRY(const std::vector<PassReport> reports, run_stage(stage, g, core(), options));
    for (const PassReport& report : reports) matches += report.matches;
    CLEAVE_CHECK(verify(g));
  }
  return matches;
}

Result<Arrays> computed(const Graph& g, const RandomGraph& r) {
  std::map<std::string, Array> inputs;
  for (size_t k = 0; k < r.inputs.size(); ++k)
    inputs.emplace(r.g.name(r.g.placeholders()[k].value), r.inputs[k]);
  return interpret(g, inputs);
}

std::string difference(const Arrays& got, const Expectation& e) {
  for (size_t at = 0; at < e.want.size(); ++at)
    for (int64_t k = 0; k < e.want[at].numel(); ++k) {
      const double a = got[at].number(k), b = e.want[at].number(k), most = e.allowed[at].f[k];
      if (a == b || (std::isnan(a) && std::isnan(b)) || std::isinf(most)) continue;
      if (!(std::fabs(a - b) <= most))
        return fmt::format("return {}, element {}: {}, expected {} within {:.2g}", at, k, a, b,
                           most);
    }
  return "";
}

RandomGraph drawn(uint64_t seed) {
  RandomGraph forward = value_or_throw(random_graph(core(), seed, {}));
  value_or_throw(cast_some(forward, core(), seed));
  return seed % 2 == 0 ? forward : value_or_throw(with_gradients(forward, core(), seed));
}

TEST(Passes, keep_what_random_graphs_compute) {
  int64_t matches = 0;
  for (uint64_t seed = 0; seed < 150; ++seed) {
    const RandomGraph r = drawn(seed);
    Graph g = r.g;
    const Result<int64_t> n = run_all(g, {});
    ASSERT_TRUE(n.ok()) << "seed " << seed << ": " << n.failure().message << "\n" << print(r.g);
    matches += *n;
    if (*n == 0) continue;
    const Arrays got = value_or_throw(computed(g, r));
    EXPECT_EQ(difference(got, value_or_throw(expectation_of(r))), "") << "seed " << seed << "\n"
                                                                      << print(r.g) << "\n"
                                                                      << print(g);
  }
  EXPECT_GE(matches, 100);
}

TEST(Passes, strict_ones_round_as_before) {
  for (uint64_t seed = 0; seed < 150; ++seed) {
    const RandomGraph r = drawn(seed);
    Graph g = r.g;
    if (value_or_throw(run_all(g, {.strict = true})) == 0) continue;
    const Arrays want = value_or_throw(computed(r.g, r)), got = value_or_throw(computed(g, r));
    for (size_t at = 0; at < want.size(); ++at)
      EXPECT_EQ(law::difference(got[at], want[at], 1e-7), "")
          << "seed " << seed << ", return " << at << "\n"
          << print(r.g) << "\n"
          << print(g);
  }
}

TEST(Passes, are_each_at_their_end_after_one_run) {
  for (uint64_t seed = 0; seed < 150; ++seed) {
    RandomGraph r = drawn(seed);
    eliminate_dead_code(r.g);  // which reads what a pass would fold
    for (const PassRow& row : pass_table()) {
      const Pass pass = row.pass();
      Graph g = r.g;
      value_or_throw(run_pass(pass, g, core(), {}));
      EXPECT_EQ(value_or_throw(run_pass(pass, g, core(), {})).matches, 0)
          << pass.name << ", seed " << seed << "\n"
          << print(g);
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
    const Result<int64_t> n = run_all(symbolic->g, {});
    ASSERT_TRUE(n.ok()) << "seed " << seed << ": " << n.failure().message << "\n"
                        << print(symbolic->g);
  }
  EXPECT_GE(graphs, 20);
}

}  // namespace
}  // namespace cleave::random
