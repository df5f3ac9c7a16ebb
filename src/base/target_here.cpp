// Alone in its file, so that a program of the tests can have another: test/target_here.cpp.
#include "base/target.h"

namespace cleave {

Target Target::here() { return {detect_instruction_set(), true}; }

}  // namespace cleave
