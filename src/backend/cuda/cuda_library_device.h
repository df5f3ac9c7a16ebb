// The device of library calls: this machine's GPU, NVRTC, cuBLASLt and cuDNN.
#pragma once
#include "backend/cuda/library_device.h"

namespace cleave::cuda {

// Kernels are compiled by NVRTC for sm_ARCH and loaded where GPU `index` of this machine is one: a
// program may be built without. One for each, kept to the end of the process.
LibraryDevicePtr cuda_library_device(int arch, int index);

}  // namespace cleave::cuda
