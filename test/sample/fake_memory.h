// The memory and the queues of a device that isn't there (fake_device.h).
#pragma once
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <set>

#include "backend/make_backend.h"
#include "base/alignment.h"
#include "base/device_alignment.h"
#include "run/queue_graph.h"
#include "test/sample/backend_of.h"
#include "test/sample/fake_device.h"

namespace cleave::test {

inline constexpr int64_t block_alignment = 256;
inline constexpr int fresh = 0xa5;  // of new memory: NaNs and large integers

inline int64_t round_up(int64_t bytes) {
  return (bytes + block_alignment - 1) / block_alignment * block_alignment;
}

// Work that is done when somebody waits for it, in its order; while it is noted it isn't done.
class Queue {
 public:
  using Work = std::function<void()>;
  static constexpr int64_t none = -1;
  // Of a graph, on a lane. It waits for the end of a call, or is one.
  struct Noted {
    Work work;
    size_t lane = 0;
    int64_t waits_for = none, ends = none;
  };
  Queue() = default;
  // A lane beside `home`, on which its work is noted.
  Queue(Queue& home, size_t lane) : home_(&home), lane_(lane) {}
  void add(Work work) { add(Noted{std::move(work)}); }
  void add(Noted work) {
    work.lane = lane_;
    if (home_ != nullptr) {
      home_->noted_->push_back(std::move(work));
    } else if (is_noting()) {
      noted_->push_back(std::move(work));
    } else {
      work_.push_back(std::move(work.work));
    }
  }
  void drain() { drain(end()); }
  // All that was added before end() was this.
  void drain(size_t end) {
    if (noted_) {
      is_spoilt_ = true;
      throw_bug("the queue is waited for while its calls are noted");
    }
    for (; done_ < end; ++done_) {
      const Work now = std::move(work_.front());
      work_.pop_front();
      now();
    }
  }
  size_t end() const { return done_ + work_.size(); }

  void begin_noting() {
    noted_.emplace();
    is_spoilt_ = false;
  }
  // None where it was waited for.
  std::optional<std::vector<Noted>> end_noting() {
    std::optional<std::vector<Noted>> noted = std::exchange(noted_, {});
    return is_spoilt_ ? std::nullopt : noted;
  }
  bool is_noting() const { return noted_.has_value(); }

  // Of the first kernel whose check failed.
  struct Failed {
    QueuedFault queued;
    Fault fault;
  };
  std::optional<Failed> failed;

 private:
  Queue* const home_ = nullptr;
  const size_t lane_ = 0;
  std::deque<Work> work_;
  size_t done_ = 0;
  std::optional<std::vector<Noted>> noted_;
  bool is_spoilt_ = false;
};

class FakeMemory final : public DeviceMemory {
 public:
  FakeMemory(int64_t bytes, Device where) : where_(where), size_(bytes) {
    const auto size = static_cast<size_t>(bytes);
    const int file = memfd_create("fake_device", 0);
    if (file < 0 || ftruncate(file, bytes) != 0) std::abort();
    const auto map = [&](int allowed) {
      void* const at = mmap(nullptr, size, allowed, MAP_SHARED, file, 0);
      if (at == MAP_FAILED) std::abort();
      return static_cast<std::byte*>(at);
    };
    addresses_ = map(PROT_NONE);
    pages_ = map(PROT_READ | PROT_WRITE);
    close(file);
    free_[0] = bytes;
  }
  ~FakeMemory() override {
    munmap(addresses_, static_cast<size_t>(size_));
    munmap(pages_, static_cast<size_t>(size_));
  }

  Device device() const override { return where_; }

  Result<void*> allocate(int64_t bytes) override {
    const std::lock_guard lock(mutex_);
    const int64_t wanted = round_up(bytes);
    for (const auto& [begin, size] : free_)
      if (size >= wanted) {
        const int64_t at = begin, rest = size - wanted;
        free_.erase(at);
        if (rest > 0) free_[at + wanted] = rest;
        used_[at] = wanted;
        used_bytes_ += wanted;
        std::memset(pages_ + at, fresh, static_cast<size_t>(wanted));
        return static_cast<void*>(addresses_ + at);
      }
    return user_error("{}: {} bytes are asked for, {} are free", where_.text(), bytes,
                      size_ - used_bytes_);
  }
  void free(void* block) noexcept override {
    const std::lock_guard lock(mutex_);
    const int64_t at = static_cast<std::byte*>(block) - addresses_;
    const auto known = used_.find(at);
    if (known == used_.end()) {
      blame("a block is freed that isn't one");
      return;
    }
    std::memset(pages_ + at, fresh, static_cast<size_t>(known->second));
    used_bytes_ -= known->second;
    auto next = free_.emplace(at, known->second).first;
    used_.erase(known);
    if (next != free_.begin())
      if (auto before = std::prev(next); before->first + before->second == at) {
        before->second += next->second;
        free_.erase(next);
        next = before;
      }
    if (auto after = std::next(next);
        after != free_.end() && next->first + next->second == after->first) {
      next->second += after->second;
      free_.erase(after);
    }
  }
  Result<void*> allocate_pinned(int64_t bytes) override {
    void* const block = std::aligned_alloc(64, static_cast<size_t>(rounded(bytes)));
    std::memset(block, fresh, static_cast<size_t>(bytes));
    const std::lock_guard lock(mutex_);
    pinned_[static_cast<std::byte*>(block)] = bytes;
    return block;
  }
  void free_pinned(void* block) noexcept override {
    const std::lock_guard lock(mutex_);
    pinned_.erase(static_cast<std::byte*>(block));
    std::free(block);
  }

  Status copy_in(void* device, const void* host, int64_t bytes, void* queue) override {
    return copied(at(device, bytes), host, {.in = 1, .in_bytes = bytes}, queue, is_pinned(host));
  }
  Status copy_out(void* host, const void* device, int64_t bytes, void* queue) override {
    return copied(host, at(device, bytes), {.out = 1, .out_bytes = bytes}, queue, is_pinned(host));
  }
  Status copy(void* to, const void* from, int64_t bytes, void* queue) override {
    const auto work = [to = at(to, bytes), from = at(from, bytes), bytes] {
      std::memcpy(to, from, static_cast<size_t>(bytes));
    };
    put(queue, work);
    return {};
  }
  Status wait(void* queue) override {
    if (queue != nullptr) static_cast<Queue*>(queue)->drain();
    return {};
  }
  Result<Room> room() const override {
    const std::lock_guard lock(mutex_);
    return Room{size_ - used_bytes_, size_};
  }

  // Where the memory under an address really is; null for null.
  std::byte* at(const void* address, int64_t bytes = 1) {
    if (address == nullptr) return nullptr;
    const auto* a = static_cast<const std::byte*>(address);
    if (a < addresses_ || a + bytes > addresses_ + size_) {
      blame("an address of the host reaches the device");
      return const_cast<std::byte*>(a);
    }
    return pages_ + (a - addresses_);
  }
  void blame(const char* what) {
    const std::lock_guard lock(blame_mutex_);
    if (wrong_.empty()) wrong_ = what;
  }
  std::string wrong() const {
    const std::lock_guard lock(blame_mutex_);
    return wrong_;
  }
  FakeDevice::Copies copies() {
    const std::lock_guard lock(mutex_);
    return std::exchange(copies_, {});
  }
  FakeDevice::Graphs graphs() {
    const std::lock_guard lock(mutex_);
    return std::exchange(graphs_, {});
  }
  void count_graph(int64_t noted, int64_t launched) {
    const std::lock_guard lock(mutex_);
    graphs_.noted += noted;
    graphs_.launched += launched;
  }
  // Whether calls can be noted.
  bool notes() const { return notes_; }
  void set_notes(bool on) { notes_ = on; }
  // Whether library calls wait for the queue.
  bool library_waits() const { return library_waits_; }
  void set_library_waits(bool on) { library_waits_ = on; }
  // Calls that have run.
  int64_t calls() const { return calls_; }
  void count_call() { ++calls_; }
  int64_t used_bytes() const {
    const std::lock_guard lock(mutex_);
    return used_bytes_;
  }

 private:
  bool is_pinned(const void* host) const {
    const auto* p = static_cast<const std::byte*>(host);
    const std::lock_guard lock(mutex_);
    auto after = pinned_.upper_bound(const_cast<std::byte*>(p));
    return after != pinned_.begin() && p < std::prev(after)->first + std::prev(after)->second;
  }
  static void put(void* queue, Queue::Work work) {
    queue == nullptr ? work() : static_cast<Queue*>(queue)->add(std::move(work));
  }
  // Counted when it is made.
  Status copied(void* to, const void* from, FakeDevice::Copies copy, void* queue, bool is_pinned) {
    put(queue, [this, to, from, copy] {
      std::memcpy(to, from, static_cast<size_t>(copy.in_bytes + copy.out_bytes));
      const std::lock_guard lock(mutex_);
      copies_.in += copy.in;
      copies_.out += copy.out;
      copies_.in_bytes += copy.in_bytes;
      copies_.out_bytes += copy.out_bytes;
    });
    if (queue != nullptr && !is_pinned) static_cast<Queue*>(queue)->drain();
    return {};
  }

  const Device where_;
  const int64_t size_;
  std::byte *addresses_ = nullptr, *pages_ = nullptr;
  mutable std::mutex mutex_;
  std::map<int64_t, int64_t> free_, used_;  // begin, bytes
  int64_t used_bytes_ = 0;
  std::map<std::byte*, int64_t> pinned_;
  FakeDevice::Copies copies_;
  FakeDevice::Graphs graphs_;
  std::atomic<bool> notes_ = true, library_waits_ = false;
  std::atomic<int64_t> calls_ = 0;
  mutable std::mutex blame_mutex_;
  std::string wrong_;
};

}  // namespace cleave::test
