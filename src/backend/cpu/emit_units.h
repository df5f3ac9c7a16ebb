// Kernels as C text, spread over units that are compiled side by side.
#pragma once
#include "backend/backend.h"

namespace cleave::cpu {

// `kernels` are scheduled, `functions` what share_kernels made of them. Units are an even number,
// alike in length, the same for every number of threads; each has a prelude.
EmittedCode emit_kernels(const std::vector<loop::Kernel>& kernels,
                         const schedule::SharedKernels& functions);

// A unit for each custom operator with C text, in the order of the calls.
void add_host_units(const LoweredProgram& program, EmittedCode& code);

}  // namespace cleave::cpu
