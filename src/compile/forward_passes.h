// What a recorded function becomes before its gradients are taken.
#pragma once
#include "cleave/options.h"
#include "pass/pass.h"

namespace cleave {

PassOptions pass_options(const Options& options);

// Mixed precision where it is asked for, then the pre_grad passes. Errors: those of autocast and of
// run_stage.
Result<std::vector<PassReport>> rewrite_forward(Graph& graph, const OpRegistry& ops,
                                                const Options& options);

}  // namespace cleave
