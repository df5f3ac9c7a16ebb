// From what was pushed through the arcs to a flow.
#pragma once
#include "flow/network.h"

namespace cleave::flow {

// A maximum flow, given what a solver that ended with a minimum cut pushed through each arc (within
// the capacities, but not conserved at the nodes): surplus goes back the way it came, to the
// source, and lack is passed on, to the sink. Each is one flow through the arcs that carry some.
Flow settle_flow(const Network& network, std::vector<Capacity> arc);

}  // namespace cleave::flow
