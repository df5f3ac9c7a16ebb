// The time of running a call once more, estimated from a table of machine rates.
//
//   ns = call + max(flops / rate of its kind, bytes / memory rate)
//
// flops and bytes are the operator's `cost`; views cost nothing. The rates come from the target: a
// table and not a measurement, so that a plan depends on its inputs alone.
#pragma once
#include "cleave/target.h"
#include "ir/graph.h"

namespace cleave {

// In ns, at least 1 for a call that isn't a view; sizes at their hints.
int64_t call_ns(const Graph& g, NodeId n, const MachineRates& rates);

}  // namespace cleave
