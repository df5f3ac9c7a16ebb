// Calls that give the same elements in whatever order the elements of their operands are given.
#pragma once
#include "ir/op_view.h"

namespace cleave {

// Pointwise, and no element's value follows from its place: not random, no attribute names dims.
bool is_by_element(const OpView& op);

}  // namespace cleave
