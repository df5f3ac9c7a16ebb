// Quotients and remainders that all lanes of a vector share:
//
//   fold over r in 65536 { ... %w[(i*8192 + r) div 16384] ... }
//   fold over r in 65536 { ... %w[(i*8192 + (r & -16)) div 16384] ... }
//
// Vectors of a loop begin at multiples of 16, i*8192 is one too, and 16 divides the divisor: so 16
// neighbours have one quotient, and remainders that grow by one. Written this way the values are
// the same in each iteration, and the loop runs in lanes: a norm's weight is read once a vector.
#pragma once
#include "loop/kernel.h"

namespace cleave::schedule {

// In folds, and in loops that no thread begins in the middle of.
void share_quotients(loop::Kernel& kernel);

}  // namespace cleave::schedule
