// The types of a call's results: what its operator's rule says, on the device of its operands.
#pragma once
#include "ir/op_view.h"

namespace cleave {

// Error (user), after those of the rule: operands on different devices; a 0-d tensor on the CPU
// may meet any. Calls with subgraphs take and give what these say.
Result<Types> infer_types(const OpView& op);

}  // namespace cleave
