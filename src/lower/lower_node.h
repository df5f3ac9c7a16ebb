// One node after the other, each in the way that its operator's lowering rule says (lowering.h).
#pragma once
#include "lower/lowering.h"

namespace cleave {

// All nodes, in order. Unsupported names the operator that has no lowering.
Status lower_nodes(Lowering& lowering);

}  // namespace cleave
