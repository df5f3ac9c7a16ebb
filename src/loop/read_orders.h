// In which order a call reads the values that it is computed from, through views and calls that are
// computed with it.
//
//   %t = permute(%x; dims=[1,0])      %y reads %x in the order of the permute, and %z in its own
//   %y = add(%t, %z)
#pragma once
#include <functional>
#include <map>

#include "ir/graph.h"
#include "loop/reorder.h"

namespace cleave {

// From the row-major number of the call's element to that of the value, of the same size, which it
// reads for it. By value; those that are read in no such way, or in several other orders, have none
// or one of them: orders are a matter of time alone. What is read where data tells has none.
using ReadOrders = std::map<uint32_t, Reorder>;

// From the number of a view's element to that of its operand's; nullopt: it doesn't have each of
// these once.
std::optional<Reorder> order_of_view(const Graph& graph, NodeId n);

// of_operand: the orders of what makes an operand, of the same size; itself, where it isn't
// computed with the call.
ReadOrders read_orders(const Graph& graph, NodeId n,
                       const std::function<ReadOrders(ValueId)>& of_operand);

}  // namespace cleave
