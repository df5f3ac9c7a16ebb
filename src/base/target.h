// Parses and checks targets, with errors as values.
#pragma once
#include <string>

#include "base/result.h"
#include "cleave/target.h"

namespace cleave {

// Errors: as Target::named.
Result<Target> parse_target(std::string_view text);

// Returns unsupported, naming what this machine has, if it can't run the target.
Status check_runs_here(const Target& target);

// "x86-64" or "aarch64".
std::string_view architecture_of(InstructionSet set);

// The highest instruction set that this processor has, whatever target was requested.
InstructionSet detect_instruction_set();

}  // namespace cleave
