#include "backend/cuda/cuda_memory.h"

#include <map>
#include <mutex>
#include <optional>

namespace cleave::cuda {
namespace {

class CudaMemory final : public DeviceMemory {
 public:
  explicit CudaMemory(CudaDevicePtr device) : device_(std::move(device)) {}

  Device device() const override { return Device::cuda(static_cast<int16_t>(device_->index())); }
  Result<void*> allocate(int64_t bytes) override {
    CLEAVE_TRY(const CUdeviceptr block, device_->allocate(bytes, device().text()));
    return reinterpret_cast<void*>(block);
  }
  void free(void* block) noexcept override { device_->free(address(block)); }
  Result<void*> allocate_pinned(int64_t bytes) override { return device_->allocate_pinned(bytes); }
  void free_pinned(void* block) noexcept override { device_->free_pinned(block); }

  Status copy_in(void* to, const void* host, int64_t bytes, void* queue) override {
    CLEAVE_TRY(const CUstream stream, stream_of(queue));
    return check(driver().cuMemcpyHtoDAsync(address(to), host, static_cast<size_t>(bytes), stream),
                 "copying to", bytes);
  }
  Status copy_out(void* host, const void* from, int64_t bytes, void* queue) override {
    CLEAVE_TRY(const CUstream stream, stream_of(queue));
    return check(
        driver().cuMemcpyDtoHAsync(host, address(from), static_cast<size_t>(bytes), stream),
        "copying from", bytes);
  }
  Status copy(void* to, const void* from, int64_t bytes, void* queue) override {
    CLEAVE_TRY(const CUstream stream, stream_of(queue));
    return check(
        driver().cuMemcpyDtoDAsync(address(to), address(from), static_cast<size_t>(bytes), stream),
        "copying within", bytes);
  }
  Status wait(void* queue) override {
    CLEAVE_TRY(const CUstream stream, stream_of(queue));
    return driver().check(driver().cuStreamSynchronize(stream), "waiting for the queue");
  }
  Result<Room> room() const override {
    CLEAVE_TRY(const int64_t free, device_->free_bytes());
    return Room{free, device_->total_bytes()};
  }

 private:
  const Driver& driver() const { return device_->driver(); }
  static CUdeviceptr address(const void* p) { return reinterpret_cast<CUdeviceptr>(p); }
  Status check(CUresult code, std::string_view what, int64_t bytes) const {
    if (code == 0) return {};
    return driver().check(code, fmt::format("{} {}: {} bytes", what, device().text(), bytes));
  }
  // Its own is made when it is first needed. The device is taken up by this thread.
  Result<CUstream> stream_of(void* queue) {
    CLEAVE_CHECK(device_->make_current());
    if (queue != nullptr) return static_cast<CUstream>(queue);
    const std::lock_guard lock(mutex_);
    if (!own_) {
      CLEAVE_TRY(CudaStream stream, CudaStream::make(device_));
      own_.emplace(std::move(stream));
    }
    return own_->get();
  }

  const CudaDevicePtr device_;
  std::mutex mutex_;
  std::optional<CudaStream> own_;
};

}  // namespace

std::shared_ptr<DeviceMemory> cuda_memory(const CudaDevicePtr& device) {
  static std::mutex mutex;
  static std::map<const CudaDevice*, std::weak_ptr<CudaMemory>> made;
  const std::lock_guard lock(mutex);
  std::weak_ptr<CudaMemory>& kept = made[device.get()];
  std::shared_ptr<CudaMemory> out = kept.lock();
  if (out == nullptr) kept = out = std::make_shared<CudaMemory>(device);
  return out;
}

}  // namespace cleave::cuda
