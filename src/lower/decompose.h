// Replaces nodes whose operator is lowered by decomposition, until none is left.
#pragma once
#include <functional>

#include "ir/graph.h"
#include "ir/op_def.h"

namespace cleave {

Status decompose_for_lowering(Graph& graph, const OpRegistry& ops, bool on_gpu = false);

// The same for the calls that are wanted, in branches and loops as well. Error (bug): one has no
// decomposition.
Status decompose_calls(Graph& graph, const OpRegistry& ops,
                       const std::function<bool(const OpView&)>& wanted);

}  // namespace cleave
