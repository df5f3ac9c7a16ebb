// Runs the host program's rewrite rules as passes.
#pragma once
#include "cleave/rewrite.h"
#include "pass/pass.h"

namespace cleave {

// Runs the rules of this point and reports on each under the rule's name. Errors (user): a text
// that isn't a rule, a replacement of another type.
Status run_host_rules(RulePoint point, Graph& graph, const OpRegistry& ops,
                      const CompileOptions& options, RuleTimes times,
                      std::vector<CompilePass>& reports);

}  // namespace cleave
