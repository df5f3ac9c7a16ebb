// What a program asks of a processor that lacks it: Report::warnings.
#pragma once
#include "cleave/report.h"
#include "lower/program.h"

namespace cleave {

// bf16_emulated, once.
std::vector<Warning> target_warnings(const LoweredProgram& program, const Target& target);

}  // namespace cleave
