#include "backend/cuda/device.h"

#include <map>
#include <mutex>

namespace cleave::cuda {

Result<CudaDevicePtr> CudaDevice::open(const DriverPtr& driver, int index) {
  int count = 0;
  CLEAVE_CHECK(driver->check(driver->cuDeviceGetCount(&count), "counting GPUs"));
  if (index >= count) return unsupported("cuda:{}: the NVIDIA driver shows {} GPUs", index, count);
  const CudaDevicePtr out(new CudaDevice(driver, index));
  char name[256] = {};
  int major = 0, minor = 0;
  size_t total = 0;
  const CUresult code = [&] {
    for (const CUresult c :
         {driver->cuDeviceGet(&out->device_, index),
          driver->cuDeviceGetName(name, sizeof(name) - 1, out->device_),
          driver->cuDeviceTotalMem(&total, out->device_),
          driver->cuDeviceGetAttribute(&major, cuda_major, out->device_),
          driver->cuDeviceGetAttribute(&minor, cuda_minor, out->device_),
          driver->cuDeviceGetAttribute(&out->shared_bytes_, cuda_shared_bytes, out->device_)})
      if (c != 0) return c;
    return 0;
  }();
  CLEAVE_CHECK(driver->check(code, fmt::format("asking for GPU {}", index)));
  out->name_ = name;
  out->arch_ = 10 * major + minor;
  out->total_bytes_ = static_cast<int64_t>(total);
  const CUresult retained = driver->cuDevicePrimaryCtxRetain(&out->context_, out->device_);
  if (retained == cuda_out_of_memory)
    return user_error("cuda:{}: {} has no memory left to work with", index, out->name_);
  CLEAVE_CHECK(driver->check(retained, fmt::format("opening GPU {}", index)));
  return out;
}

Result<CudaDevicePtr> CudaDevice::here(int index) {
  static std::mutex mutex;
  // Not destroyed: the driver's own destructors may have run before this one would.
  static auto& opened = *new std::map<int, CudaDevicePtr>;
  const std::lock_guard lock(mutex);
  CudaDevicePtr& device = opened[index];
  if (device == nullptr) {
    CLEAVE_TRY(const DriverPtr driver, Driver::here());
    CLEAVE_TRY(device, open(driver, index));
  }
  return device;
}

CudaDevice::~CudaDevice() {
  if (context_ != nullptr) driver_->cuDevicePrimaryCtxRelease(device_);
}

Status CudaDevice::make_current() const {
  return driver_->check(driver_->cuCtxSetCurrent(context_), "taking up the GPU");
}

Result<int64_t> CudaDevice::free_bytes() const {
  CLEAVE_CHECK(make_current());
  size_t free = 0, total = 0;
  CLEAVE_CHECK(driver_->check(driver_->cuMemGetInfo(&free, &total), "asking for free memory"));
  return static_cast<int64_t>(free);
}

Result<CUdeviceptr> CudaDevice::allocate(int64_t bytes, std::string_view what) const {
  CLEAVE_CHECK(make_current());
  CUdeviceptr out = 0;
  const CUresult code = driver_->cuMemAlloc(&out, static_cast<size_t>(bytes));
  if (code == cuda_out_of_memory) {
    CLEAVE_TRY(const int64_t free, free_bytes());
    return user_error("{}: {} bytes can't be had from {}: {} of its {} are free", what, bytes,
                      name_, free, total_bytes_);
  }
  CLEAVE_CHECK(driver_->check(code, fmt::format("{}: allocating {} bytes", what, bytes)));
  return out;
}

void CudaDevice::free(CUdeviceptr block) const noexcept {
  driver_->cuCtxSetCurrent(context_);
  driver_->cuMemFree(block);
}

Result<void*> CudaDevice::allocate_pinned(int64_t bytes) const {
  CLEAVE_CHECK(make_current());
  void* out = nullptr;
  const CUresult code = driver_->cuMemHostAlloc(&out, static_cast<size_t>(bytes), 0);
  if (code == cuda_out_of_memory)
    return user_error("{} bytes of pinned memory can't be had from the system", bytes);
  CLEAVE_CHECK(driver_->check(code, fmt::format("allocating {} pinned bytes", bytes)));
  return out;
}

void CudaDevice::free_pinned(void* block) const noexcept {
  driver_->cuCtxSetCurrent(context_);
  driver_->cuMemFreeHost(block);
}

Result<CudaStream> CudaStream::make(const CudaDevicePtr& device) {
  CLEAVE_CHECK(device->make_current());
  CUstream stream = nullptr;
  const Driver& driver = device->driver();
  CLEAVE_CHECK(
      driver.check(driver.cuStreamCreate(&stream, cuda_stream_non_blocking), "making a queue"));
  return CudaStream(device, stream);
}

CudaStream::~CudaStream() {
  if (stream_ == nullptr) return;
  const Status current = device_->make_current();
  if (current.ok()) device_->driver().cuStreamDestroy(stream_);
}

Status CudaStream::wait() const {
  CLEAVE_CHECK(device_->make_current());
  return device_->driver().check(device_->driver().cuStreamSynchronize(stream_),
                                 "waiting for the queue");
}

}  // namespace cleave::cuda
