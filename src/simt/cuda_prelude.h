// The functions that kernels in CUDA C call, in front of them.
#pragma once
#include <string>

namespace cleave::simt {

// Those that the text uses. No headers: types and functions of the device are known to NVRTC.
std::string cuda_prelude_for(const std::string& kernels);

}  // namespace cleave::simt
