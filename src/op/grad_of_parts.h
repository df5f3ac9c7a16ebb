// The gradient of an operator through its decomposition, for operators whose formulas would only
// repeat those of their parts.
//
//   y = op(x), dy  ->  the parts are written again, and the sweep differentiates them
//
// What is written twice is merged with the parts of the forward once it is taken apart.
#pragma once
#include "ir/op_view.h"

namespace cleave {

GradFn grad_of_parts(DecomposeFn decompose);

}  // namespace cleave
