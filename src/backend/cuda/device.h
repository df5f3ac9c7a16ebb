// The GPU of this machine, with the context in which all of this process works with it (the primary
// one, which other libraries share).
#pragma once
#include "backend/cuda/driver.h"

namespace cleave::cuda {

class CudaDevice {
 public:
  // The GPU of this number. Errors (unsupported): there is none; (user): it has no memory left.
  static Result<std::shared_ptr<CudaDevice>> open(const DriverPtr& driver, int index = 0);
  // The same by Driver::here; opened once and kept to the end of the process:
  // opening takes a tenth of a second.
  static Result<std::shared_ptr<CudaDevice>> here(int index = 0);
  ~CudaDevice();
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

  const Driver& driver() const { return *driver_; }
  int index() const { return index_; }
  const std::string& name() const { return name_; }
  int arch() const { return arch_; }  // 90 for sm_90
  int64_t total_bytes() const { return total_bytes_; }
  // Of a thread block, at most.
  int shared_bytes() const { return shared_bytes_; }
  Result<int64_t> free_bytes() const;
  // Before a thread calls the driver: what it does is for this device.
  Status make_current() const;

  // At least `bytes`, aligned to 256. Error (user): there is too little, with what is free.
  Result<CUdeviceptr> allocate(int64_t bytes, std::string_view what) const;
  void free(CUdeviceptr block) const noexcept;
  // Memory of the host that copies don't wait for. Error (user): the system refuses it.
  Result<void*> allocate_pinned(int64_t bytes) const;
  void free_pinned(void* block) const noexcept;

 private:
  CudaDevice(DriverPtr driver, int index) : driver_(std::move(driver)), index_(index) {}
  const DriverPtr driver_;
  const int index_;
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  std::string name_;
  int arch_ = 0, shared_bytes_ = 0;
  int64_t total_bytes_ = 0;
};
using CudaDevicePtr = std::shared_ptr<CudaDevice>;

// A queue of the device's work.
class CudaStream {
 public:
  static Result<CudaStream> make(const CudaDevicePtr& device);
  CudaStream(CudaStream&& from) noexcept
      : device_(std::move(from.device_)), stream_(std::exchange(from.stream_, nullptr)) {}
  CudaStream& operator=(CudaStream&&) = delete;
  ~CudaStream();
  CUstream get() const { return stream_; }
  // For all that is on it.
  Status wait() const;

 private:
  CudaStream(CudaDevicePtr device, CUstream stream) : device_(std::move(device)), stream_(stream) {}
  CudaDevicePtr device_;
  CUstream stream_ = nullptr;
};

}  // namespace cleave::cuda
