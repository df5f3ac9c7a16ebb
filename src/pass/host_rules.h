// The host program's rewrite rules as passes.
#pragma once
#include "pass/pass.h"

namespace cleave {

// Runs the rules of this point; a report for each, named as the rule. Errors (user): a text that is
// no rule, a replacement of another type.
Status run_host_rules(RulePoint point, Graph& graph, const OpRegistry& ops,
                      const PassOptions& options, std::vector<CompilePass>& reports);

}  // namespace cleave
