// Runs the host program's function passes (cleave/function_pass.h).
#pragma once
#include "cleave/function_pass.h"
#include "pass/pass.h"

namespace cleave {

// Error (user), naming the pass: no function, no name, or one that another pass of the host program
// or of cleave has.
Status check_function_passes(const CompileOptions& options);

// Runs the passes of this point and reports on each: as matches whether it changed the graph, as
// nodes how many calls it replaced or dropped. The graph keeps its placeholders. Errors (user),
// naming the pass: what it throws; a text that isn't a graph, or that of one with other
// placeholders or results.
Status run_function_passes(RulePoint point, Graph& graph, const OpRegistry& ops,
                           const CompileOptions& options, std::vector<CompilePass>& reports);

}  // namespace cleave
