// The iterations of each phase of a kernel (phase.h); of kernels that share functions each has its
// own.
#pragma once
#include "loop/kernel.h"

namespace cleave::loop {

std::vector<int64_t> phase_extents(const Kernel& kernel);

}  // namespace cleave::loop
