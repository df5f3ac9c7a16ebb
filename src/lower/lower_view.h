// Lowers a view: its operand's storage, with the layout that the operator's rule gives.
#pragma once
#include "lower/lowering.h"

namespace cleave {

// If there is no such layout, the operand is copied first.
Status lower_view(Lowering& lowering, NodeId n, const loop::ViewRule& rule);

}  // namespace cleave
