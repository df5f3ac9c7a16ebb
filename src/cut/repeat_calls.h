// Copies calls of the forward so that they run again for the backward, in a whole program.
//
//   %c = cos(%x)                    %c = cos(%x)
//   %l = sum(%c)              ─►    %l = sum(%c)
//   %g = mul(%t, %c)                %c_1 = cos(%x)
//                                   %g = mul(%t, %c_1)
#pragma once
#include <functional>
#include <vector>

#include "ir/graph.h"

namespace cleave {

// Each call outside of `forward` (by node) reads copies of those calls in it for which
// `should_repeat` holds; a copy is placed immediately before its first reader. Returns how many
// were copied.
Result<int64_t> repeat_calls(Graph& g, const std::vector<bool>& forward,
                             const std::function<bool(NodeId)>& should_repeat);

}  // namespace cleave
