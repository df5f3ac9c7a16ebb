// Checks that a flow and a cut are optimal, without any of the solvers' code.
#pragma once
#include "flow/network.h"

namespace cleave::flow {

// Checked, in this order: the sizes; 0 <= flow <= capacity on every arc; conservation at every
// node; the value is the flow out of the source; it equals the capacity of the cut (so that both
// are optimal); and no minimum cut has fewer nodes on the source's side (Nearest::source) or more
// (Nearest::sink). Errors (bug): the first check that fails. O(nodes + arcs).
Status verify_flow(const Network& network, const Flow& flow,
                   const std::vector<uint8_t>& source_side, Nearest nearest);

}  // namespace cleave::flow
