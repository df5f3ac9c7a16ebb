#include "backend/cuda/cuda_library_device.h"

#include <map>
#include <mutex>

#include "backend/cuda/cuda_module.h"
#include "backend/cuda/nvrtc.h"

namespace cleave::cuda {
namespace {

class CudaDeviceKernel final : public DeviceKernel {
 public:
  CudaDeviceKernel(CudaDevicePtr device, CudaModulePtr module, CUfunction function)
      : device_(std::move(device)), module_(std::move(module)), function_(function) {}

  void launch(int64_t blocks, void* const* arguments, void* queue) const override {
    if (function_ == nullptr) throw_bug("cuda: a call on a machine without its device");
    const Driver& driver = device_->driver();
    value_or_bug(
        driver.check(driver.cuLaunchKernel(function_, static_cast<unsigned>(blocks), 1, 1,
                                           device_threads, 1, 1, 0, static_cast<CUstream>(queue),
                                           const_cast<void**>(arguments), nullptr),
                     "starting a library's kernel"));
  }

 private:
  const CudaDevicePtr device_;
  const CudaModulePtr module_;
  const CUfunction function_;
};

class CudaLibraryDevice final : public LibraryDevice {
 public:
  CudaLibraryDevice(int arch, int index) : arch_(arch), index_(index) {}

  Result<DeviceKernelPtr> kernel(const DeviceCall& call) const override {
    const std::lock_guard lock(mutex_);
    DeviceKernelPtr& kernel = kernels_[call.function];
    if (!kernel) { CLEAVE_TRY(kernel, made(call)); }
    return kernel;
  }
  std::shared_ptr<const Cublas> cublas() const override {
    std::call_once(cublas_once_, [&] { cublas_ = opened_cublas(); });
    return cublas_;
  }
  CudnnPtr cudnn() const override {
    std::call_once(cudnn_once_, [&] { cudnn_ = opened_cudnn(); });
    return cudnn_;
  }

 private:
  Result<DeviceKernelPtr> made(const DeviceCall& call) const {
    CudaDevicePtr device;
    if (const Result<CudaDevicePtr> here = CudaDevice::here(index_);
        here.ok() && (*here)->arch() == arch_)
      device = *here;
    const Result<NvrtcPtr> compiler = Nvrtc::here();
    if (!compiler.ok() && !device)  // a program that is only planned here
      return DeviceKernelPtr(std::make_shared<CudaDeviceKernel>(nullptr, nullptr, nullptr));
    CLEAVE_CHECK(compiler);
    CLEAVE_TRY(const auto cubin, (*compiler)->compile(device_source(call), arch_, "library_call"));
    CLEAVE_TRY(CudaModulePtr module, CudaModule::load(device, cubin));
    CLEAVE_TRY(const CUfunction function, module->function(device_symbol, 0));
    return DeviceKernelPtr(
        std::make_shared<CudaDeviceKernel>(std::move(device), std::move(module), function));
  }
  static std::shared_ptr<const Cublas> opened_cublas() {
    const Result<OpenedLibrary> library =
        open_library({"libcublasLt.so.13", "libcublasLt.so.12"}, "pip install nvidia-cublas");
    if (!library.ok()) return nullptr;
    const Result<CublasApi> api = find_cublas(*library);
    return api.ok() ? std::make_shared<const Cublas>(*api) : nullptr;
  }

  static CudnnPtr opened_cudnn() {
    const Result<OpenedLibrary> library =
        open_library({"libcudnn.so.9"}, "pip install nvidia-cudnn-cu13");
    if (!library.ok()) return nullptr;
    const Result<CudnnApi> api = find_cudnn(*library);
    return api.ok() ? std::make_shared<const Cudnn>(*api) : nullptr;
  }

  const int arch_, index_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, DeviceKernelPtr> kernels_;  // by DeviceCall::function
  mutable std::once_flag cublas_once_, cudnn_once_;
  mutable std::shared_ptr<const Cublas> cublas_;
  mutable CudnnPtr cudnn_;
};

}  // namespace

LibraryDevicePtr cuda_library_device(int arch, int index) {
  static std::mutex mutex;
  static auto& devices =
      *new std::map<std::pair<int, int>, LibraryDevicePtr>;  // the driver ends first
  const std::lock_guard lock(mutex);
  LibraryDevicePtr& device = devices[{arch, index}];
  if (!device) device = std::make_shared<CudaLibraryDevice>(arch, index);
  return device;
}

}  // namespace cleave::cuda
