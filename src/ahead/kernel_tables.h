// The runtime's tables of kernels for instruction sets other than a program's, which it never looks
// at. Defined in the program's own C, as zeros, they keep the linker from adding the runtime's, and
// with them the kernels: a quarter of a program.
#pragma once
#include <string>

#include "cleave/target.h"

namespace cleave::ahead {

// C that defines the tables that a program for the set never looks at.
std::string absent_tables_text(InstructionSet set);

}  // namespace cleave::ahead
