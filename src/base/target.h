// Targets by their texts, with errors as values.
#pragma once
#include <string>

#include "base/result.h"
#include "cleave/target.h"

namespace cleave {

// Errors: as Target::named.
Result<Target> parse_target(std::string_view text);

// Unsupported where this machine can't run it; names what it has.
Status check_runs_here(const Target& target);

// The last instruction set that this processor has, whatever anyone asks for.
InstructionSet detect_instruction_set();

}  // namespace cleave
