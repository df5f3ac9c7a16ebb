// A while_loop: carried values have a memory each, to which every iteration gives their next values
// (drawing in program.h).
#pragma once
#include "lower/lowering.h"

namespace cleave {

Status lower_loop(Lowering& lowering, NodeId n);

}  // namespace cleave
