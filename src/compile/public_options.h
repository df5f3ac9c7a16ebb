// What the host program's options ask of the stages.
#pragma once
#include "cleave/options.h"
#include "compile/compile_options.h"

namespace cleave {

// All but the executor.
CompileOptions compile_options(const Options& options);

}  // namespace cleave
