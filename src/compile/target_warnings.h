// What a program asks of a machine that lacks it: Report::warnings.
#pragma once
#include "cleave/report.h"
#include "cleave/target.h"
#include "lower/program.h"

namespace cleave {

// bf16_emulated, once.
std::vector<Warning> target_warnings(const LoweredProgram& program, const Target& target);

// no_compiler.
Warning no_compiler_warning();

}  // namespace cleave
