// What library calls ask of the device: kernels of device/, NVIDIA's libraries where they are
// there. Tests run on a simulated one.
#pragma once
#include <cstdint>
#include <memory>

#include "backend/cuda/cublas_api.h"
#include "backend/cuda/cudnn_api.h"
#include "backend/cuda/device_source.h"
#include "base/result.h"

namespace cleave::cuda {

class DeviceKernel {
 public:
  virtual ~DeviceKernel() = default;
  // Of device_threads each. `arguments` point to the values of the call's parameters. Queued; a
  // failure of the driver is a Bug, thrown.
  virtual void launch(int64_t blocks, void* const* arguments, void* queue) const = 0;
};
using DeviceKernelPtr = std::shared_ptr<const DeviceKernel>;

class LibraryDevice {
 public:
  virtual ~LibraryDevice() = default;
  // Equal calls share one. It is compiled when a program is built, with its own kernels, or at its
  // first launch. Any thread may ask.
  virtual Result<DeviceKernelPtr> kernel(const DeviceCall& call) const = 0;
  // Null if cuBLASLt isn't there.
  virtual std::shared_ptr<const Cublas> cublas() const = 0;
  // Null if cuDNN isn't there.
  virtual CudnnPtr cudnn() const = 0;
};
using LibraryDevicePtr = std::shared_ptr<const LibraryDevice>;

// Queues so many blocks, none if there is nothing to do; kernels walk over more.
template <class... Arguments>
void launch(const DeviceKernel& kernel, int64_t blocks, void* queue, Arguments... arguments) {
  constexpr int64_t most = int64_t{1} << 20;
  if (blocks <= 0) return;
  void* const at[] = {&arguments...};
  kernel.launch(blocks < most ? blocks : most, at, queue);
}

// Blocks in which each thread has one of so many elements.
inline int64_t blocks_for(int64_t elements) {
  return (elements + device_threads - 1) / device_threads;
}

}  // namespace cleave::cuda
