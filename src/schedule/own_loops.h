// Calls that write their own loops (KernelRule) and may still be in a group: as its last call,
// which reads what the other calls compute.
#pragma once
#include "ir/graph.h"
#include "loop/lower_rule.h"

namespace cleave {

// The rule of a call that reads each element of one operand once, in a place that it chooses: that
// operand may be computed there. Null for others.
const loop::KernelRule* own_loops(const Graph& graph, NodeId n);
// The flat operand of which the result starts as a copy; -1: none.
int start_of(const loop::KernelRule& rule, const OpView& op);

}  // namespace cleave
