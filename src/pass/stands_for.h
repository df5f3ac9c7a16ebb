// Whether one value of a graph may take the place of another.
#pragma once
#include "ir/graph.h"

namespace cleave {

// Same dtype and device, and each dim is proven equal.
bool has_same_type(const Graph& graph, ValueId a, ValueId b);

// `value` has the type of `old`, and where `old` is returned it is no placeholder and no result
// yet: the caller doesn't get one value twice, or its own operand, where it had a copy. Linear in
// the results.
bool may_stand_for(const Graph& graph, ValueId value, ValueId old);

}  // namespace cleave
