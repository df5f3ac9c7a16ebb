// What a whole graph moves, and what the halves of a joint graph move where the cut lets them move
// least.
#pragma once
#include "compile/executable.h"
#include "ir/op_def.h"
#include "lower/traffic.h"

namespace cleave {

// Of the program that these options make of it; symbolic sizes at their hints.
Result<std::vector<KernelTraffic>> graph_traffic(const Graph& graph, const OpRegistry& ops,
                                                 const CompileOptions& options = {});

struct HalvesTraffic {
  std::vector<KernelTraffic> kernels;  // of the forward, then of the backward
  std::vector<std::string> saved;
};

// The cut whose kernels move least, among those of mode exact (at most 64) and what a descent from
// there finds: one more call that runs again, as long as no more is moved.
Result<HalvesTraffic> halves_traffic(const Graph& joint, const OpRegistry& ops,
                                     const CompileOptions& options = {});

}  // namespace cleave
