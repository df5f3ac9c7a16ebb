// A library call to a step: what it reads where it lies, or copied where the library doesn't take
// that; results in their places, or where they lie best.
#pragma once
#include "lower/lowering.h"

namespace cleave {

void lower_library(Lowering& lowering, NodeId n, const loop::LibraryForm& form);

}  // namespace cleave
