// The memory of a GPU, for operands of programs.
#pragma once
#include "backend/cuda/device.h"
#include "backend/device_memory.h"

namespace cleave::cuda {

// One object for each device, while any user of it lives.
std::shared_ptr<DeviceMemory> cuda_memory(const CudaDevicePtr& device);

}  // namespace cleave::cuda
