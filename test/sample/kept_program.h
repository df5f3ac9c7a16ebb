// A program as it is built, and as a cache gives it back.
#pragma once
#include "exec/executable.h"

namespace cleave::law {

struct KeptProgram {
  std::shared_ptr<const CompiledProgram> built, found;
};

// Builds the graph's program with a cache in a folder of this process, and has it found there.
// Fails (bug) where it isn't found, or where its report, its graph or its steps are others.
Result<KeptProgram> build_and_find(const Graph& g, const OpRegistry& ops, StageOptions options);

}  // namespace cleave::law
