// Machine code of a unit, loaded on the device.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "backend/cuda/device.h"

namespace cleave::cuda {

class CudaModule {
 public:
  // Where this machine has no device to load it on, its functions are null: a program is built all
  // the same, and can't be run (Backend::check_runs_here). Errors (bug): the driver refuses it.
  static Result<std::shared_ptr<const CudaModule>> load(CudaDevicePtr device,
                                                        const std::vector<std::byte>& cubin);
  ~CudaModule();
  CudaModule(const CudaModule&) = delete;
  CudaModule& operator=(const CudaModule&) = delete;

  // For blocks of so many threads with `shared_bytes` of dynamic shared memory. It is on the device
  // then, so that no call is the first one that takes longer. Errors (bug): there is none of the
  // name, or the device has less.
  Result<CUfunction> function(const std::string& symbol, int32_t shared_bytes,
                              int32_t threads = 1) const;

 private:
  explicit CudaModule(CudaDevicePtr device) : device_(std::move(device)) {}
  const CudaDevicePtr device_;
  CUmodule module_ = nullptr;
};
using CudaModulePtr = std::shared_ptr<const CudaModule>;

}  // namespace cleave::cuda
