// The types of a call's results: inferred by the operator's rule, on the device of its operands.
#pragma once
#include "ir/op_view.h"

namespace cleave {

// Error (user), after those of the rule: operands on different devices; a 0-d tensor on the CPU may
// be combined with any device. For calls with subgraphs the subgraphs determine the devices.
Result<Types> infer_types(const OpView& op);

}  // namespace cleave
