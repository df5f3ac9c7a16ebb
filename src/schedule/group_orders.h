// The order in which a group without folds computes its results: that of one of them, in which most
// of what it reads and writes lies. Others are computed, and stored, where it reads what they read.
//
//   %a = sin(%x)                         for n { a[n] = sin(x[n]); b[j*64 + i] = cos(x[n]) }
//   %t = permute(%x; dims=[1,0])
//   %b = cos(%t)
#pragma once
#include <unordered_map>

#include "loop/read_orders.h"

namespace cleave {

// From the number of the loop's element to that of the result, by result; of those that differ.
using GroupOrders = std::unordered_map<uint32_t, Reorder>;

// Whether rows of so many elements are rows in the order too.
bool keeps_rows(const Reorder& order, int64_t row_elements);

// `results` have the same number of elements. `folded`: what is folded, whose order the loop
// follows, if anything is.
GroupOrders order_results(const Graph& graph, const std::vector<NodeId>& nodes,
                          const std::vector<ValueId>& results,
                          const std::vector<ValueId>& folded = {});

}  // namespace cleave
