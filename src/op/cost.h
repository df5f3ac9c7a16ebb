// Cost rules that most entries share. Symbolic sizes are counted at their hints.
#pragma once
#include "ir/op_view.h"

namespace cleave {

// Bytes of every tensor operand and every result.
int64_t bytes_moved(const OpView& op);
int64_t numel_hint(const OpView& op, const Type& t);

// `flops` for each element of result 0.
CostFn cost_per_result(int64_t flops);
// `flops` for each element of operand 0.
CostFn cost_per_operand(int64_t flops);
// The cost of a view: no bytes are moved.
CostFn cost_of_view();

}  // namespace cleave
