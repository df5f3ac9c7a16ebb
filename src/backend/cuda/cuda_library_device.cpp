#include "backend/cuda/cuda_library_device.h"

#include "backend/cuda/cuda_module.h"
#include "backend/cuda/nvrtc.h"

namespace cleave::cuda {
namespace {

// "depthwise_to_weight" of "depthwise_to_weight<bf16, 4, 3, 1>".
std::string name_of(const DeviceCall& call) {
  return call.function.substr(0, call.function.find('<'));
}

}  // namespace

CudaDeviceKernel::CudaDeviceKernel(const DeviceCall& call, int arch, int index, CudaParts parts)
    : name_(name_of(call)), text_(device_source(call)), arch_(arch), index_(index),
      parts_(std::move(parts)) {}

Status CudaDeviceKernel::load(cache::Store* cache) const {
  if (is_loaded_) return {};
  const std::lock_guard lock(mutex_);
  return is_loaded_ ? Status() : load_first(cache);
}

Status CudaDeviceKernel::load_first(cache::Store* cache) const {
  CudaDevicePtr device;
  if (const Result<CudaDevicePtr> here = parts_.device(index_);
      here.ok() && (*here)->arch() == arch_)
    device = *here;
  if (device || parts_.compiler().ok()) {  // else the program is only planned here
    CubinLoader loader(parts_.compiler, arch_);
    CLEAVE_TRY(const LoadedCubin cubin,
               loader.load(SourceUnit{.text = text_, .language = "cu"}, name_, device, cache));
    CLEAVE_TRY(function_, cubin.code->function(device_symbol, 0));
    module_ = cubin.code;
  }
  device_ = std::move(device);
  is_loaded_ = true;
  return {};
}

void CudaDeviceKernel::launch(int64_t blocks, void* const* arguments, void* queue) const {
  value_or_bug(load(nullptr));
  if (function_ == nullptr) throw_bug("cuda: a call on a machine without its device");
  const Driver& driver = device_->driver();
  value_or_bug(driver.check(
      driver.cuLaunchKernel(function_, static_cast<unsigned>(blocks), 1, 1, device_threads, 1, 1, 0,
                            static_cast<CUstream>(queue), const_cast<void**>(arguments), nullptr),
      "starting a library's kernel"));
}

Result<DeviceKernelPtr> CudaLibraryDevice::kernel(const DeviceCall& call) const {
  const std::lock_guard lock(mutex_);
  auto& kernel = kernels_[call.function];
  if (!kernel) kernel = std::make_shared<const CudaDeviceKernel>(call, arch_, index_, parts_);
  return DeviceKernelPtr(kernel);
}

std::vector<std::shared_ptr<const CudaDeviceKernel>> CudaLibraryDevice::waiting() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<const CudaDeviceKernel>> out;
  for (const auto& [_, kernel] : kernels_)
    if (!kernel->is_loaded()) out.push_back(kernel);
  return out;
}

std::shared_ptr<const Cublas> CudaLibraryDevice::cublas() const {
  std::call_once(cublas_once_, [&] {
    const Result<OpenedLibrary> library =
        open_library({"libcublasLt.so.13", "libcublasLt.so.12"}, "pip install nvidia-cublas");
    if (!library.ok()) return;
    const Result<CublasApi> api = find_cublas(*library);
    if (api.ok()) cublas_ = std::make_shared<const Cublas>(*api);
  });
  return cublas_;
}

CudnnPtr CudaLibraryDevice::cudnn() const {
  std::call_once(cudnn_once_, [&] {
    const Result<OpenedLibrary> library =
        open_library({"libcudnn.so.9"}, "pip install nvidia-cudnn-cu13");
    if (!library.ok()) return;
    const Result<CudnnApi> api = find_cudnn(*library);
    if (api.ok()) cudnn_ = std::make_shared<const Cudnn>(*api);
  });
  return cudnn_;
}

std::shared_ptr<const CudaLibraryDevice> cuda_library_device(int arch, int index) {
  static std::mutex mutex;
  static auto& devices =
      *new std::map<std::pair<int, int>,
                    std::shared_ptr<const CudaLibraryDevice>>;  // the driver ends first
  const std::lock_guard lock(mutex);
  std::shared_ptr<const CudaLibraryDevice>& device = devices[{arch, index}];
  if (!device) device = std::make_shared<const CudaLibraryDevice>(arch, index);
  return device;
}

}  // namespace cleave::cuda
