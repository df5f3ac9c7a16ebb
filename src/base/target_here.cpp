// In a file of its own, so that a test program can replace it: test/target_here.cpp.
#include "base/target.h"

namespace cleave {

Target Target::here() { return {detect_instruction_set(), true}; }

}  // namespace cleave
