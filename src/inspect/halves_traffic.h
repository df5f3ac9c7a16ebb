// What a whole graph moves, and what the halves of a joint graph move where the cut lets them move
// least.
#pragma once
#include "inspect/traffic.h"
#include "ir/op_def.h"

namespace cleave {

// As compiled; symbolic sizes at their hints.
Result<std::vector<KernelTraffic>> graph_traffic(const Graph& graph, const OpRegistry& ops,
                                                 bool fuse = true);

struct HalvesTraffic {
  std::vector<KernelTraffic> kernels;  // of the forward, then of the backward
  std::vector<std::string> saved;
};

// Of the cuts of mode exact (at most 64 of them) the one whose kernels move least.
Result<HalvesTraffic> halves_traffic(const Graph& joint, const OpRegistry& ops, bool fuse = true);

}  // namespace cleave
