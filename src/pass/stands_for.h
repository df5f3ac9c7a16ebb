// Whether one value of a graph may replace another.
#pragma once
#include "ir/graph.h"

namespace cleave {

// Whether dtype and device are equal, and each dim provably so.
bool has_same_type(const Graph& graph, ValueId a, ValueId b);

// Whether `value` has the type of `old` and, if `old` is returned, is neither a placeholder nor
// returned already: otherwise the caller would get one value twice, or its own operand instead of a
// copy. Linear in the number of results.
bool may_stand_for(const Graph& graph, ValueId value, ValueId old);

}  // namespace cleave
