// Each pass gives its golden's text, and both sides of the golden compute the same.
#include "test/sample/golden.h"

#include <gtest/gtest.h>

#include <set>

#include "test/random_inputs.h"
#include "test/sample/over_ranks.h"

namespace cleave {
namespace {

using golden::Case;
using test::core;
using test::parsed;

struct Done {
  Graph graph;
  CompilePass report;
};

Result<Done> done(const Pass& pass, const std::string& text, const CompileOptions& options = {}) {
  CLEAVE_TRY(Program p, parse(text, "golden", core()));
  CLEAVE_TRY(CompilePass report, run_pass(pass, p.main, core(), options));
  CLEAVE_CHECK(verify(p.main));
  return Done{std::move(p.main), std::move(report)};
}

// By placeholder, symbols at their hints.
Arrays inputs_of(const Graph& g) {
  std::map<std::string, int64_t> symbols;
  for (const Placeholder& p : g.placeholders())
    if (p.role == Role::symint) symbols[g.name(p.value)] = p.sym.hint.value_or(3);
  const std::map<std::string, Array> by_name = test::random_inputs(g, symbols);
  Arrays out;
  for (const Placeholder& p : g.placeholders()) out.push_back(by_name.at(g.name(p.value)));
  return out;
}

std::string difference_of_values(const std::string& before, const std::string& after) {
  const Graph a = parsed(before), b = parsed(after);
  const int64_t ranks = std::max(test::ranks_of(a), test::ranks_of(b));
  const Arrays want = value_or_throw(test::run_over_ranks(a, inputs_of(a), ranks));
  const Arrays got = value_or_throw(test::run_over_ranks(b, inputs_of(b), ranks));
  if (got.size() != want.size()) return "another number of results";
  for (size_t k = 0; k < want.size(); ++k) {
    const bool is_half = want[k].dtype == DType::bf16 || want[k].dtype == DType::f16;
    const std::string m = test::mismatch(got[k], want[k], is_half ? 2e-2 : 1e-9);
    if (!m.empty()) return fmt::format("result {}: {}", k, m);
  }
  return "";
}

class Golden : public testing::TestWithParam<PassRow> {
 protected:
  const Pass pass = GetParam().pass();
  const std::vector<Case> cases = value_or_throw(golden::cases_of(GetParam()));
};

TEST_P(Golden, becomes_or_stays) {
  for (const Case& c : cases) {
    SCOPED_TRACE(c.title);
    const Result<Done> d = done(pass, c.before);
    ASSERT_TRUE(d.ok()) << d.failure().message;
    EXPECT_EQ(print(d->graph), print(parsed(c.after.empty() ? c.before : c.after)));
  }
}

TEST_P(Golden, computes_the_same_on_both_sides) {
  for (const Case& c : cases)
    if (!c.after.empty()) { EXPECT_EQ(difference_of_values(c.before, c.after), "") << c.title; }
}

TEST_P(Golden, twice_is_once) {
  for (const Case& c : cases) {
    const Graph once = value_or_throw(done(pass, c.before)).graph;
    const Done twice = value_or_throw(done(pass, print(once)));
    EXPECT_EQ(print(twice.graph), print(once)) << c.title;
    EXPECT_EQ(twice.report.matches, 0) << c.title;
  }
}

TEST_P(Golden, has_a_case_for_each_rule_and_one_that_stays) {
  std::set<std::string> shown;
  bool stays = false;
  for (const Case& c : cases) {
    const Done d = value_or_throw(done(pass, c.before));
    stays |= c.after.empty();
    for (const RuleCount& r : d.report.rules)
      if (r.matches > 0) shown.insert(r.rule);
  }
  EXPECT_TRUE(stays) << "no case is unchanged";
  for (const Rule& r : pass.rules) EXPECT_TRUE(shown.contains(r.name)) << r.name;
}

TEST_P(Golden, rules_that_round_are_off_in_strict_programs) {
  bool rounds = pass.rounds;
  for (const Rule& r : pass.rules) rounds |= r.rounds;
  for (const Case& c : cases) {
    const Done d = value_or_throw(done(pass, c.before, {.strict = true}));
    for (size_t k = 0; k < d.report.rules.size(); ++k) {
      if (pass.rules[k].rounds) { EXPECT_EQ(d.report.rules[k].matches, 0) << c.title; }
    }
    if (pass.rounds) { EXPECT_EQ(d.report.matches, 0) << c.title; }
    if (!rounds && !c.after.empty()) {
      EXPECT_EQ(print(d.graph), print(parsed(c.after))) << c.title;
    }
  }
}

std::vector<PassRow> rows() {
  std::vector<PassRow> out;
  std::ranges::copy_if(pass_table(), std::back_inserter(out),
                       [](const PassRow& row) { return !row.again; });
  return out;
}

INSTANTIATE_TEST_SUITE_P(passes, Golden, testing::ValuesIn(rows()),
                         [](const auto& info) { return info.param.pass().name; });

TEST(Passes, bear_different_names_and_a_line_each) {
  std::set<std::string> names, rules;
  for (const PassRow& row : pass_table()) {
    const Pass pass = row.pass();
    EXPECT_EQ(names.insert(pass.name).second, !row.again) << pass.name;
    EXPECT_FALSE(pass.summary.empty()) << pass.name;
    EXPECT_NE(std::string(row.why), "") << pass.name;
    EXPECT_NE(std::string(row.assumes), "") << pass.name;
    EXPECT_EQ(pass.rules.empty(), static_cast<bool>(pass.run)) << pass.name;
    EXPECT_TRUE(row.list >= 0 && row.list < 3) << pass.name;
    if (row.again) continue;
    for (const Rule& r : pass.rules)
      EXPECT_TRUE(rules.insert(pass.name + "." + r.name).second) << pass.name << "." << r.name;
  }
}

TEST(Passes, unknown_names_are_refused_with_those_that_there_are) {
  const Result<Pass> p = find_pass("fold_permut");
  ASSERT_FALSE(p.ok());
  EXPECT_EQ(p.failure().kind, ErrorKind::user);
  EXPECT_TRUE(p.failure().message.starts_with(
      "there is no pass 'fold_permut', did you mean 'fold_permute'?"))
      << p.failure().message;
  Graph g = parsed("graph @main(%x: input f32[2]) {\n  return %x\n}\n");
  EXPECT_FALSE(run_stage(PassStage::joint, g, core(), {.passes_off = {"nothing"}}).ok());
}

TEST(Passes, what_is_asked_for_runs_only_where_it_is_named) {
  std::string calls, results;
  for (int k = 1; k <= 5; ++k) {
    calls += fmt::format("  %y{} = tanh(%x)\n  %z{} = mul(%y{}; other={})\n", k, k, k, k);
    results += fmt::format("{}%z{}", k == 1 ? "" : ", ", k);
  }
  const std::string text =
      "graph @main(%x: input f32[2]) {\n" + calls + "  return " + results + "\n}\n";
  const auto reports_of = [&](const CompileOptions& options) {
    Graph g = parsed(text);
    int64_t matches = -1;
    for (const CompilePass& r : value_or_throw(run_stage(PassStage::pre_grad, g, core(), options)))
      if (r.name == "batch_activation") matches = r.matches;
    return matches;
  };
  EXPECT_EQ(reports_of({}), -1);
  EXPECT_EQ(reports_of({.passes_on = {"batch_activation"}}), 1);
  EXPECT_EQ(reports_of({.passes_off = {"batch_activation"}, .passes_on = {"batch_activation"}}),
            -1);
}

// Two readers of a view and of its base give the base one gradient each, or the view gives it one.
TEST(Stage, before_grad_is_left_out_of_strict_training) {
  const auto text = [](const char* grad) {
    return fmt::format(
        "graph @g(%x: input f32[4]{}) {{\n  %a = alias(%x)\n  %y = sin(%a)\n  return %y\n}}\n",
        grad);
  };
  for (const bool trained : {false, true}) {
    Graph g = test::parsed(text(trained ? " grad" : ""));
    value_or_throw(run_stage(PassStage::pre_grad, g, core(), {.strict = true}));
    EXPECT_EQ(g.node_count(), trained ? 2U : 1U);
  }
}

}  // namespace
}  // namespace cleave
