// Kernels as C text, in units that are compiled in parallel.
#pragma once
#include "backend/backend.h"

namespace cleave::cpu {

// `kernels` are scheduled, `functions` is what share_kernels made of them. Units are of about the
// same length and don't depend on the number of threads; each starts with a prelude.
EmittedCode emit_kernels(const std::vector<loop::Kernel>& kernels,
                         const schedule::SharedKernels& functions);

// A unit for each custom operator with C text, in the order of the calls.
void add_host_units(const LoweredProgram& program, EmittedCode& code);

}  // namespace cleave::cpu
