// Gives the storages of a GPU's arena sizes that are multiples of device_alignment, so that each
// begins at one.
#pragma once
#include "lower/program.h"

namespace cleave {

// Before memory is planned. Placeholders stay as they are: the store aligns them.
void align_storages(LoweredProgram& program);

}  // namespace cleave
