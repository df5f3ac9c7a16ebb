// A view: its operand's storage, with the layout that the operator says.
#pragma once
#include "lower/lowering.h"

namespace cleave {

// An operand that has no such layout is copied first.
Status lower_view(Lowering& lowering, NodeId n, const loop::ViewRule& rule);

}  // namespace cleave
