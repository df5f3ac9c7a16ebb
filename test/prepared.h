// A graph as it is lowered, whatever could run again kept.
#pragma once
#include "compile/stages.h"
#include "test/random_inputs.h"

namespace cleave::test {

inline Status prepare(Graph& g, bool fuse = true, const PassOptions& passes = {},
                      const OpRegistry& ops = core()) {
  CompileOptions options;
  options.memory_budget = MemoryBudget::percent(100);
  options.fuse = fuse;
  options.passes = passes;
  return run_stages(Stage::verify, Stage::fuse, g, ops, options);
}

}  // namespace cleave::test
