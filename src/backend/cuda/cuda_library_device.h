// The device of library calls: this machine's GPU, NVRTC, cuBLASLt and cuDNN.
#pragma once
#include <atomic>
#include <map>
#include <mutex>
#include <vector>

#include "backend/cuda/cubin_loader.h"
#include "backend/cuda/cuda_parts.h"
#include "backend/cuda/library_device.h"

namespace cleave::cuda {

// Compiled by NVRTC for sm_ARCH, and loaded where GPU `index` of this machine is one: a program may
// be built without. Any thread may call it.
class CudaDeviceKernel final : public DeviceKernel {
 public:
  CudaDeviceKernel(const DeviceCall& call, int arch, int index, CudaParts parts);

  bool is_loaded() const { return is_loaded_; }
  // Does nothing where it is loaded. Errors: those of CubinLoader::load.
  Status load(cache::Store* cache) const;
  // Loads it first, if nothing has.
  void launch(int64_t blocks, void* const* arguments, void* queue) const override;

 private:
  Status load_first(cache::Store* cache) const;

  const std::string name_, text_;
  const int arch_, index_;
  const CudaParts parts_;
  mutable std::mutex mutex_;
  mutable std::atomic<bool> is_loaded_ = false;
  mutable CudaDevicePtr device_;  // these three are set before is_loaded_
  mutable CudaModulePtr module_;
  mutable CUfunction function_ = nullptr;
};

class CudaLibraryDevice final : public LibraryDevice {
 public:
  CudaLibraryDevice(int arch, int index, CudaParts parts = {})
      : arch_(arch), index_(index), parts_(std::move(parts)) {}

  Result<DeviceKernelPtr> kernel(const DeviceCall& call) const override;
  std::shared_ptr<const Cublas> cublas() const override;
  CudnnPtr cudnn() const override;
  // Those that calls asked for and that nothing has loaded yet.
  std::vector<std::shared_ptr<const CudaDeviceKernel>> waiting() const;

 private:
  const int arch_, index_;
  const CudaParts parts_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, std::shared_ptr<const CudaDeviceKernel>> kernels_;  // by function
  mutable std::once_flag cublas_once_, cudnn_once_;
  mutable std::shared_ptr<const Cublas> cublas_;
  mutable CudnnPtr cudnn_;
};

// One for each, kept to the end of the process.
std::shared_ptr<const CudaLibraryDevice> cuda_library_device(int arch, int index);

}  // namespace cleave::cuda
