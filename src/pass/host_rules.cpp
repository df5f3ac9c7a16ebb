#include "pass/host_rules.h"

#include <algorithm>

#include "cleave/options.h"
#include "grad/grad.h"
#include "pass/rule_match.h"
#include "rewrite/graph_rule.h"

namespace cleave {
namespace {

// A bug in a rule of cleave is a user error in a rule of the host program.
Failure as_users(Failure f) {
  if (f.kind == ErrorKind::bug) f.kind = ErrorKind::user;
  return f;
}

Result<Pass> pass_of(const RewriteRule& rule, const OpRegistry& ops,
                     const std::shared_ptr<Status>& failed) {
  TextRule text{.name = rule.name,
                .text = rule.text,
                .parts = {.numbers = rule.numbers},
                .dtypes = rule.dtypes};
  add_functions(rule, failed, text.parts);
  Pass pass{.name = rule.name, .summary = "a rule of the host program"};
  CLEAVE_TRY(pass.rules, rules_of(text, ops));
  if (rule.derive_backward) {
    if (rule.make)
      return user_error("rule {}: derive_backward needs @replace, which `make` stands for",
                        rule.name);
    text.name += ".backward";
    text.parts.derive = [&ops](const Graph& g) { return make_joint(g, ops); };
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
    const auto failed = std::make_shared<Status>();
    Result<Pass> pass = pass_of(rule, ops, failed);
    if (!pass.ok()) return as_users(std::move(pass).failure());
    Result<CompilePass> report = run_pass(*pass, graph, ops, options, times);
    if (!report.ok()) return as_users(std::move(report).failure());
    if (!failed->ok()) return Failure(failed->failure()).within("rule " + rule.name);
    reports.push_back(*std::move(report));
  }
  return {};
}

}  // namespace cleave
