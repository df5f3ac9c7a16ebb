// Calls on sizes that aren't numbers: what shapes are computed of stays an expression of symints.
#pragma once
#include "import/onnx/call.h"

namespace cleave::onnx {

// Gives the results if all operands are sizes, one of them symbolic, and the operator is one that
// expressions have: Gather, Slice, Concat, Add, ... False: the operator's rule is to run.
Result<bool> fold_sizes(Call& c);

}  // namespace cleave::onnx
