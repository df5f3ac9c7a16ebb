// Gives the storages of a GPU's arena sizes that are multiples of what its accesses take at once, so
// that each begins at one: a warp's 512 bytes are four lines of its cache, not parts of five.
#pragma once
#include "lower/program.h"

namespace cleave {

constexpr int64_t device_alignment = 256;  // bytes; what cuBLASLt and cuDNN take as best, too

// Before memory is planned. Placeholders stay as they are: the store aligns them.
void align_storages(LoweredProgram& program);

}  // namespace cleave
