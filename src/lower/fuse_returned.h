// Returned views of what a kernel makes, as copies.
//
//   %g = mul(%t, %c)                      %g = mul(%t, %c)
//   %y = permute(%g; dims=[1,0])    ->    %v = permute(%g; dims=[1,0])
//   return %y                             %y = clone(%v)
//                                         return %y
//
// A result is memory of its own, so that such a view is copied behind its kernel. The clone is
// fused with what makes its operand, which then is written once, in the result's order.
#pragma once
#include "ir/graph.h"
#include "ir/op_def.h"

namespace cleave {

// Of views of elementwise calls that nothing else reads. What else reads the view reads the copy.
Status copy_returned_views(Graph& graph, const OpRegistry& ops);

}  // namespace cleave
