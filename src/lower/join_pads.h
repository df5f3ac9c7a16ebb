// A sum of tensors that are padded with zeros, each where the others aren't, is a cat: what the
// parts of a value that was taken apart (slice, select) give it as their gradients.
//
//   %p = constant_pad_nd(%a; pad=[0,2])
//   %q = constant_pad_nd(%b; pad=[1,1])
//   %r = constant_pad_nd(%c; pad=[2,0])      ->      %t = cat([%a, %b, %c]; dim=-1)
//   %s = add(%p, %q)
//   %t = add(%s, %r)
//
// Parts that leave gaps stay as they are. Only the sign of a zero may be another: -0 + 0 is 0.
#pragma once
#include "ir/graph.h"
#include "ir/op_def.h"

namespace cleave {

// And in the subgraphs that nodes refer to. Returns how many there were.
Result<int64_t> join_pads(Graph& graph, const OpRegistry& ops);

}  // namespace cleave
