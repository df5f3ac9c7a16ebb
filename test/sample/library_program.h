// A graph as a library of its own (src/ahead).
#pragma once
#include "test/sample/run_program.h"

namespace cleave::law {

// Builds it into a folder of this process, opens it, and runs it once, with placeholders of role
// input as inputs, and with the others, and inputs that are updated, as state. The elements of each
// entry of `return`. Errors: those of building; user: what the run says.
Result<Memory> run_library(const Graph& g, const OpRegistry& ops, const StageOptions& options,
                           const Arrays& inputs);

}  // namespace cleave::law
