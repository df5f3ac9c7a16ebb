// Kernels as CUDA C text, in units that are compiled in parallel.
#pragma once
#include "backend/backend.h"

namespace cleave::cuda {

// `kernels` are scheduled, `functions` is what share_kernels made of them: of kernels that it makes
// one function with the same numbers there is one unit, with the names of the first, which holds
// all of its phases. The numbers stay constants. alone: alone_buffers.h; of none if it is empty.
EmittedCode emit_kernels(const std::vector<loop::Kernel>& kernels,
                         const schedule::SharedKernels& functions,
                         const std::vector<std::vector<bool>>& alone = {});

}  // namespace cleave::cuda
