// What keeps a call out of every region.
#pragma once
#include <optional>
#include <string>

#include "ir/graph.h"

namespace cleave {

// Why cleave can't lower the call, with the operator's file: "no kernel: REASON (FILE)", "on
// cuda:0"; nullopt: it can.
std::optional<std::string> reason_outside(const Graph& g, NodeId n);

}  // namespace cleave
