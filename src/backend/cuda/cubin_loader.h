// Code of units for one architecture: from a cache if there is one and this user has compiled the
// same text before; else compiled by NVRTC, and kept there. Then loaded on the device.
#pragma once
#include <atomic>
#include <functional>

#include "backend/backend.h"
#include "backend/cuda/cuda_module.h"
#include "backend/cuda/nvrtc.h"

namespace cleave::cuda {

struct LoadedCubin {
  CudaModulePtr code;
  std::string key;  // in the cache; empty without one
};

class CubinLoader {
 public:
  // `compiler` gives it when it is first asked for.
  CubinLoader(std::function<Result<NvrtcPtr>()> compiler, int arch)
      : compiler_(std::move(compiler)), arch_(arch) {}

  // Any number of threads may call it. A null device: nothing is loaded. Errors: those of
  // Nvrtc::compile and CudaModule::load; bug: a unit without text is not in the cache.
  Result<LoadedCubin> load(const SourceUnit& unit, const std::string& unit_name,
                           const CudaDevicePtr& device, cache::Store* cache);
  Result<std::string> identity() const;
  // Units compiled so far.
  int64_t compiled() const { return compiled_; }

 private:
  const std::function<Result<NvrtcPtr>()> compiler_;
  const int arch_;
  std::atomic<int64_t> compiled_ = 0;
};

}  // namespace cleave::cuda
