// Makes a feasible flow of a pseudoflow.
#pragma once
#include "flow/network.h"

namespace cleave::flow {

// A maximum flow, given the flow through each arc of a solver that ended with a minimum cut: within
// the capacities, but not conserved at the nodes. Excess is sent back to the source and deficit
// forward to the sink, each by one flow problem over the arcs that carry flow.
Flow settle_flow(const Network& network, std::vector<Capacity> arc);

}  // namespace cleave::flow
