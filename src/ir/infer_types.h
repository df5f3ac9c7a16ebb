// The types of a call's results: inferred by the operator's rule, on the device of its operands.
#pragma once
#include "ir/op_view.h"

namespace cleave {

// Error (user), after those of the rule: operands on different devices, of which two are named; a
// 0-d tensor on the CPU may be combined with any device, as may what ir/host_operands.h lists. An
// attribute `device` says where results lie, subgraphs say it of calls that have some.
Result<Types> infer_types(const OpView& op);

}  // namespace cleave
