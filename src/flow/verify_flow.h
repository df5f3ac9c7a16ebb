// Whether an answer is right, without any of the solvers' code.
#pragma once
#include "flow/network.h"

namespace cleave::flow {

// Checked, in this order: the sizes; 0 <= flow <= capacity on every arc; conservation at every
// node; the value is what leaves the source; it equals the capacity of the cut (so that both are
// optimal); and no node less is on the source's side of any minimum cut (Nearest::source), or no
// node more (Nearest::sink). Errors (bug): the first thing that isn't so. O(nodes + arcs).
Status verify_flow(const Network& network, const Flow& flow,
                   const std::vector<uint8_t>& source_side, Nearest nearest);

}  // namespace cleave::flow
