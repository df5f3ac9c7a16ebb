// Puts the thunks of a program into the order that needs the least memory, if that is notably less
// than in their own.
//
//   before                 after
//     a = product(x)         a = product(x)
//     b = product(y)         s = sum(a)        a is dead here
//     s = sum(a)             b = product(y)
//
// Orders are found by plan/order.h. A storage is a value of the first thunk that touches it, alive
// to the last; the thunks of a node stay together. What doesn't change:
//
//   a thunk that writes a storage comes after all that touched it before, one that reads it after
//   the one that wrote it
//   a placeholder is written after every thunk that may fail and came before
//   calls of the host program keep their order
//
// Programs with jumps stay as they are.
#pragma once
#include "lower/program.h"

namespace cleave {

// Errors (bug): a program whose order isn't one of its tasks.
Status order_thunks(LoweredProgram& program);

}  // namespace cleave
