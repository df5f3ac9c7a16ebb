#include "pass/host_rules.h"

#include <algorithm>

#include "cleave/options.h"
#include "grad/grad.h"
#include "rewrite/graph_rule.h"

namespace cleave {
namespace {

// A bug in a rule of cleave is a user error in a rule of the host program.
Failure as_users(Failure f) {
  if (f.kind == ErrorKind::bug) f.kind = ErrorKind::user;
  return f;
}

Result<Pass> pass_of(const RewriteRule& rule, const OpRegistry& ops) {
  TextRule text{.name = rule.name,
                .text = rule.text,
                .numbers = rule.numbers,
                .rounds = false,
                .dtypes = rule.dtypes};
  Pass pass{.name = rule.name, .summary = "a rule of the host program"};
  CLEAVE_TRY(pass.rules, rules_of(text, ops));
  if (rule.derive_backward) {
    text.name += ".backward";
    text.derive = [&ops](const Graph& g) { return make_joint(g, ops); };
    CLEAVE_TRY(std::vector<Rule> derived, rules_of(text, ops));
    // The joint rules are tried before those of the forward alone.
    pass.rules.insert(pass.rules.begin(), derived.begin(), derived.end());
  }
  return pass;
}

}  // namespace

Status run_host_rules(RulePoint point, Graph& graph, const OpRegistry& ops,
                      const CompileOptions& options, RuleTimes times,
                      std::vector<CompilePass>& reports) {
  for (const RewriteRule& rule : options.rules) {
    if (rule.point != point || std::ranges::count(options.passes_off, rule.name) > 0) continue;
    Result<Pass> pass = pass_of(rule, ops);
    if (!pass.ok()) return as_users(std::move(pass).failure());
    Result<CompilePass> report = run_pass(*pass, graph, ops, options, times);
    if (!report.ok()) return as_users(std::move(report).failure());
    reports.push_back(*std::move(report));
  }
  return {};
}

}  // namespace cleave
