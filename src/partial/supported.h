// What keeps a call out of every region.
#pragma once
#include <optional>
#include <string>

#include "ir/graph.h"

namespace cleave {

// Why cleave can't lower the call, with the operator's file: "no kernel: REASON (FILE)", "on
// cuda:0"; nullopt: it can. `device` is that of the backend, which may read 0-d tensors of the CPU.
std::optional<std::string> reason_outside(const Graph& g, NodeId n, Device device);

}  // namespace cleave
