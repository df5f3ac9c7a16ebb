// Sums of two values of one type, as chains of them are taken apart.
#pragma once
#include "ir/graph.h"

namespace cleave {

// Whether the call is add(a, b) with alpha 1 and no broadcast or conversion.
bool is_plain_sum(const Graph& graph, NodeId call);

}  // namespace cleave
