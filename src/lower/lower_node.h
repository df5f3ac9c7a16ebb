// Lowers the nodes of a graph in order, each as its operator's lowering rule says (lowering.h).
#pragma once
#include "lower/lowering.h"

namespace cleave {

// Unsupported, naming the operator that has no lowering.
Status lower_nodes(Lowering& lowering);

}  // namespace cleave
