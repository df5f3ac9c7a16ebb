#include "pass/pass.h"

#include <chrono>

#include "cleave/options.h"
#include "ir/edit.h"
#include "ir/result_strides.h"
#include "ir/subgraph.h"
#include "rewrite/rule_set.h"

namespace cleave {
namespace {

Status run_rules(const Pass& pass, Graph& graph, const OpRegistry& ops,
                 const RuleSet::Options& options, CompilePass& report) {
  CLEAVE_TRY(const RuleSet rules, RuleSet::make(pass.rules, ops));
  CLEAVE_TRY(report.rules, rules.apply(graph, ops, options));
  for (const RuleCount& c : report.rules) {
    report.matches += c.matches;
    report.nodes += c.nodes;
  }
  return {};
}

Status run_function(const Pass& pass, Graph& graph, const OpRegistry& ops, CompilePass& report) {
  const auto run_on = [&](Graph& g) -> Result<bool> {
    CLEAVE_TRY(const PassCount count, pass.run(g, ops));
    report.matches += count.matches;
    report.nodes += count.nodes;
    return count.matches > 0;
  };
  const Result<bool> changed = run_on(graph);
  if (!changed.ok()) return Failure(changed.failure());
  if (pass.outermost) return {};
  return rewrite_subgraphs(graph, run_on);
}

}  // namespace

Result<CompilePass> run_pass(const Pass& pass, Graph& graph, const OpRegistry& ops,
                             const CompileOptions& options, RuleTimes times) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  CompilePass report{pass.name};
  const ResultStrides strides(graph);
  Status status;
  if (pass.run) {
    if (!(pass.rounds && options.strict)) status = run_function(pass, graph, ops, report);
  } else {
    status = run_rules(pass, graph, ops,
                       {.strict = options.strict, .times = times == RuleTimes::measured}, report);
  }
  if (!status.ok()) return std::move(status).failure().within(fmt::format("pass {}", pass.name));
  if (report.matches > 0) {
    CLEAVE_CHECK(strides.restore(graph, ops));
    eliminate_dead_code(graph);
  }
  report.ms = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
  return report;
}

}  // namespace cleave
