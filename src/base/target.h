// Parses and checks targets, with errors as values.
#pragma once
#include <string>

#include "base/result.h"
#include "cleave/target.h"

namespace cleave {

// Errors: as Target::named.
Result<Target> parse_target(std::string_view text);

// Returns unsupported, naming what this machine has, if it can't run the target. Of a GPU it asks
// the driver, no library.
Status check_runs_here(const Target& target);

// "x86-64" or "aarch64".
std::string_view architecture_of(InstructionSet set);

// The architecture of a GPU of this machine, 90 for sm_90. Error (unsupported): what is missing.
Result<int> detect_cuda_arch(int index = 0);

// The target of this GPU; of an H200's architecture where it isn't there, so that programs can be
// planned for it.
Target cuda_target(int index);

// The table of rates that targets have which no file gives others.
MachineRates common_rates(const Target& target);

// The highest instruction set that this processor has, whatever target was requested.
InstructionSet detect_instruction_set();

}  // namespace cleave
