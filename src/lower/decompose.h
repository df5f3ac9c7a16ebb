// Replaces nodes whose operator is lowered by decomposition, until none is left.
#pragma once
#include "ir/graph.h"
#include "ir/op_def.h"

namespace cleave {

Status decompose_for_lowering(Graph& graph, const OpRegistry& ops);

}  // namespace cleave
