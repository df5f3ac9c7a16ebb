// Memory that isn't the host's, and the copies between the two.
//
//   std::shared_ptr<DeviceMemory> memory = backend->device_memory();  // null: it is the host's
//   CLEAVE_TRY(DeviceBlock x, DeviceBlock::make(memory, bytes));
//   CLEAVE_CHECK(memory->copy_in(x.data(), host, bytes, queue));       // queue: ArenaMemory::queue
//   ... kernels on the queue read x.data() ...
//   CLEAVE_CHECK(memory->copy_out(host, x.data(), bytes, queue));
//   CLEAVE_CHECK(memory->wait(queue));                                 // now host has the bytes
//
// A copy takes its place among the calls on its queue: it sees what those before it wrote. It may
// return before it is done: until wait() its host memory stays where it is, and isn't written. A
// copy of pageable host memory may wait; one of pinned memory doesn't. A null queue is one of the
// memory's own, for copies outside of runs. Errors: bug, what the device says, which may be of a
// call before.
//
// One object for each device of a process, whichever backends ask for it: what one program has
// allocated there, another one reads. Thread-safe.
#pragma once
#include <cstddef>
#include <memory>
#include <utility>

#include "base/result.h"
#include "cleave/device.h"

namespace cleave {

class DeviceMemory {
 public:
  DeviceMemory() = default;
  virtual ~DeviceMemory() = default;
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  virtual Device device() const = 0;
  // At least `bytes` (> 0), aligned to 256, of any contents. Error (user): there is too little,
  // with the bytes asked for and those that are free.
  virtual Result<void*> allocate(int64_t bytes) = 0;
  // The caller has waited for all calls that touch it.
  virtual void free(void* block) noexcept = 0;
  // Host memory that copies don't wait for, aligned to 64. Error (user): the system refuses it.
  virtual Result<void*> allocate_pinned(int64_t bytes) = 0;
  virtual void free_pinned(void* block) noexcept = 0;

  virtual Status copy_in(void* device, const void* host, int64_t bytes, void* queue) = 0;
  virtual Status copy_out(void* host, const void* device, int64_t bytes, void* queue) = 0;
  // Within the device; the ranges don't overlap.
  virtual Status copy(void* to, const void* from, int64_t bytes, void* queue) = 0;
  // For all that is on the queue.
  virtual Status wait(void* queue) = 0;

  struct Room {
    int64_t free = 0, total = 0;  // bytes
  };
  virtual Result<Room> room() const = 0;
};

// Owns a block of a device's memory, or pinned memory of the host.
class DeviceBlock {
 public:
  DeviceBlock() = default;
  enum class Kind : uint8_t { device, pinned };
  // Of 0 bytes it is empty. Errors: those of DeviceMemory.
  static Result<DeviceBlock> make(std::shared_ptr<DeviceMemory> memory, int64_t bytes,
                                  Kind kind = Kind::device) {
    DeviceBlock out;
    if (bytes == 0) return out;
    CLEAVE_TRY(void* const data,
               kind == Kind::device ? memory->allocate(bytes) : memory->allocate_pinned(bytes));
    out.data_ = static_cast<std::byte*>(data);
    out.bytes_ = bytes;
    out.kind_ = kind;
    out.memory_ = std::move(memory);
    return out;
  }
  DeviceBlock(DeviceBlock&& from) noexcept { swap(from); }
  DeviceBlock& operator=(DeviceBlock&& from) noexcept {
    DeviceBlock taken(std::move(from));
    swap(taken);
    return *this;
  }
  ~DeviceBlock() {
    if (data_ == nullptr) return;
    kind_ == Kind::device ? memory_->free(data_) : memory_->free_pinned(data_);
  }

  std::byte* data() const { return data_; }
  int64_t bytes() const { return bytes_; }
  bool overlaps(const void* data, int64_t bytes) const {
    const auto* begin = static_cast<const std::byte*>(data);
    return begin < data_ + bytes_ && data_ < begin + bytes;
  }

 private:
  void swap(DeviceBlock& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(kind_, other.kind_);
    std::swap(memory_, other.memory_);
  }
  std::shared_ptr<DeviceMemory> memory_;
  std::byte* data_ = nullptr;
  int64_t bytes_ = 0;
  Kind kind_ = Kind::device;
};

}  // namespace cleave
