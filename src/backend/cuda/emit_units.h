// Kernels as CUDA C text, in units that are compiled in parallel.
#pragma once
#include "backend/backend.h"
#include "backend/cuda/shared_buffers.h"

namespace cleave::cuda {

// `kernels` are scheduled, `functions` is what share_kernels made of them: kernels that it makes
// one function with the same numbers are one, with the names of the first. The numbers stay
// constants. shared: by kernel; unknown of all if it is empty. Units are of about the same length
// and don't depend on the number of threads; each starts with a prelude.
EmittedCode emit_kernels(const std::vector<loop::Kernel>& kernels,
                         const schedule::SharedKernels& functions,
                         const std::vector<SharedBuffers>& shared = {});

}  // namespace cleave::cuda
