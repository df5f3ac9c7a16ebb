// Lowers a library call. Operands are read where they are, or copied first if the library doesn't
// take their layout. Results are made in their place, or in the layout that the library prefers.
#pragma once
#include "lower/lowering.h"

namespace cleave {

void lower_library(Lowering& lowering, NodeId n, const loop::LibraryForm& form);

}  // namespace cleave
