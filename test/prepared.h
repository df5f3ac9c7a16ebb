// A graph as it is before rematerialization, and its program with nothing recomputed.
#pragma once
#include "compile/stages.h"
#include "test/random_inputs.h"

namespace cleave::test {

inline Status prepare_unfused(Graph& g, const CompileOptions& passes = {},
                              const OpRegistry& ops = core()) {
  return run_stages(Stage::verify, Stage::tags, g, ops, {passes});
}

inline Status prepare(Graph& g, bool fuse = true, const CompileOptions& passes = {},
                      const OpRegistry& ops = core()) {
  CLEAVE_CHECK(prepare_unfused(g, passes, ops));
  return fuse ? run_stages(Stage::fuse, Stage::fuse, g, ops, {}) : Status();
}

}  // namespace cleave::test
