// The message of a kernel's failed check, by the value that the kernel computes.
#pragma once
#include <string>

#include "run/kernel_function.h"
#include "run/program.h"

namespace cleave::standalone {

std::string fault_text(const Thunk& thunk, const Fault& fault);

}  // namespace cleave::standalone
