// Each golden of a pass inside a branch and inside a loop: the pass rewrites it there as it does
// alone.
// tests: pass.cpp
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "test/random_inputs.h"
#include "test/sample/golden.h"
#include "test/sample/wrap_graph.h"

namespace cleave {
namespace {

using golden::Case;
using test::core;
using test::parsed;

struct Wrapping {
  const char* name;
  Result<Graph> (*wrap)(const Graph&, const OpRegistry&);
};
constexpr Wrapping wrappings[] = {{"cond", test::in_cond}, {"while_loop", test::in_loop}};

// What is rewritten alone: "pass: title", and why not in a subgraph.
const std::map<std::string, std::string> alone = {
    {"fuse_conv_bn: in groups, half weights, with the statistics",
     "a subgraph has no updates, and a result without a gradient must not become a buffer, which "
     "may have one"},
    {"efficient_conv_bn_eval: in groups, half weights, with the statistics", "the same"},
};

// What sees from outside which of a graph's operands are frozen: the wrapped graph is one more of
// those that it rewrites, under another name.
const std::set<std::string> into_graphs = {"hoist_frozen", "pack_weights", "unfuse_frozen"};

class InSubgraph : public testing::TestWithParam<PassRow> {};

TEST_P(InSubgraph, is_rewritten_as_alone) {
  const Pass pass = GetParam().pass();
  for (const Case& c : value_or_throw(golden::cases_of(GetParam())))
    for (const Wrapping& w : wrappings) {
      const std::string title = fmt::format("{}: {}", pass.name, c.title);
      SCOPED_TRACE(fmt::format("{} in {}", title, w.name));
      Graph g = value_or_throw(w.wrap(parsed(c.before), core()));
      const std::string before = print(g);
      const std::string after =
          c.after.empty() ? before : print(value_or_throw(w.wrap(parsed(c.after), core())));
      value_or_throw(run_pass(pass, g, core(), {}));
      if (!into_graphs.contains(pass.name))
        EXPECT_EQ(print(g), pass.outermost || alone.contains(title) ? before : after);
      else if (c.after.empty())
        EXPECT_EQ(print(g), before);
      else
        EXPECT_NE(print(g), before);
      const Status valid = verify(g);
      EXPECT_TRUE(valid.ok()) << valid.failure().message;
    }
}

TEST(WrappedGolden, all_but_these) {
  std::set<std::string> titles;
  for (const PassRow& row : pass_table())
    for (const Case& c : value_or_throw(golden::cases_of(row)))
      titles.insert(fmt::format("{}: {}", row.pass().name, c.title));
  for (const auto& [title, why] : alone) EXPECT_TRUE(titles.contains(title)) << title;
}

std::vector<PassRow> rows() {
  std::vector<PassRow> out;
  std::ranges::copy_if(pass_table(), std::back_inserter(out),
                       [](const PassRow& row) { return !row.again; });
  return out;
}

INSTANTIATE_TEST_SUITE_P(passes, InSubgraph, testing::ValuesIn(rows()),
                         [](const auto& info) { return info.param.pass().name; });

}  // namespace
}  // namespace cleave
