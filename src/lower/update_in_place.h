// An update whose value is computed after the last step that may fail, and not before the last read
// of the placeholder, is written into the placeholder's memory at once. A kernel that reads the
// placeholder itself must do so at the address that it writes, and stand in no loop.
#pragma once
#include "lower/program.h"

namespace cleave {

void update_in_place(LoweredProgram& program);

}  // namespace cleave
