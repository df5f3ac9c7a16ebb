// What of CUDA a backend works with; asked for when it is needed. Tests give others.
#pragma once
#include <functional>

#include "backend/cuda/device.h"
#include "backend/cuda/nvrtc.h"

namespace cleave::cuda {

struct CudaParts {
  std::function<Result<CudaDevicePtr>(int index)> device = CudaDevice::here;
  std::function<Result<NvrtcPtr>()> compiler = Nvrtc::here;
};

}  // namespace cleave::cuda
