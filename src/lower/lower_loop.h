// Lowers a while_loop: each carried value has a storage, to which every iteration writes its next
// value (drawing in program.h).
#pragma once
#include "lower/lowering.h"

namespace cleave {

Status lower_loop(Lowering& lowering, NodeId n);

}  // namespace cleave
