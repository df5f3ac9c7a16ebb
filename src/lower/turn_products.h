// A product that is only read transposed is made transposed: its readers then walk through it in
// order.
//
//   permute(mm(a, b); dims=[1,0])      ->  mm(permute(b; dims=[1,0]), permute(a; dims=[1,0]))
//   permute(bmm(a, b); dims=[0,2,1])   ->  the same, batch by batch
//
// A product reads its operands in any order, so the new permutes are free. The gradient of a weight
// that a linear layer holds transposed is such a product.
#pragma once
#include "ir/graph.h"
#include "ir/op_def.h"

namespace cleave {

// And in the subgraphs that nodes refer to. Returns how many were turned.
Result<int64_t> turn_products(Graph& graph, const OpRegistry& ops);

}  // namespace cleave
