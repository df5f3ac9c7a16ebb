// What the program moves that a graph becomes: its kernels, and what the backward reads of the
// forward.
#pragma once
#include "compile/compile_options.h"
#include "ir/op_def.h"
#include "lower/traffic.h"

namespace cleave {

struct ProgramTraffic {
  std::vector<KernelTraffic> kernels;  // in the program's order
  // Of a joint graph: values in memory, placeholders among them, that hang on no tangent and that a
  // call reads which does.
  std::vector<std::string> saved;
};

// Of the graph from Stage::verify on, with these options; symbolic sizes at their hints. Errors:
// those of the stages and of lowering.
Result<ProgramTraffic> program_traffic(const Graph& graph, const OpRegistry& ops,
                                       const CompileOptions& options = {});

}  // namespace cleave
