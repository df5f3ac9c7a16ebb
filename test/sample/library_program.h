// Graphs as a library of their own (src/ahead).
#pragma once
#include <span>

#include "test/sample/run_program.h"

namespace cleave::law {

// A graph at one size, and the arrays of its placeholders.
struct LibraryRun {
  const Graph& graph;
  const Arrays& inputs;
  int64_t size = 0;  // another one for each
};

// Builds one library for all into a folder of this process, opens it, and runs each once, with
// placeholders of role input as inputs, and with the others, and inputs that are updated, as state;
// what has another type at other sizes is an entry for each. By run, the elements of each entry of
// `return`, or what the run says (user). Errors: those of building.
Result<std::vector<Result<Memory>>> run_library(std::span<const LibraryRun> runs,
                                                const OpRegistry& ops, const StageOptions& options);

}  // namespace cleave::law
