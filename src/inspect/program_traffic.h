// The memory traffic of a graph's program: what each kernel reads and writes, and which values of
// the forward the backward reads.
#pragma once
#include "compile/stage_options.h"
#include "ir/op_def.h"
#include "lower/traffic.h"

namespace cleave {

struct ProgramTraffic {
  std::vector<KernelTraffic> kernels;  // in the program's order
  // Of a joint graph: values in memory, including placeholders, that don't depend on a tangent and
  // are read by a call that does.
  std::vector<std::string> saved;
};

// Runs the stages from Stage::verify on the graph, with these options and symbolic sizes at their
// hints. Errors: those of the stages and of lowering.
Result<ProgramTraffic> program_traffic(const Graph& graph, const OpRegistry& ops,
                                       const StageOptions& options = {});

}  // namespace cleave
