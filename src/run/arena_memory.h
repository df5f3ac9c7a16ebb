#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>

namespace cleave {

// A check that failed on a queue: numbers of the call (RunContext::thunk) and of the check in its
// kernel, and the values of Fault.
struct QueuedFault {
  int64_t thunk = 0, check = 0;
  int64_t index = 0, bound = 0;
};

// The memory of one instance, and how much of it was used.
class ArenaMemory {
 public:
  virtual ~ArenaMemory() = default;
  virtual std::byte* data() const = 0;  // aligned to storage_alignment; null for 0 bytes
  virtual int64_t size_bytes() const = 0;
  // Whether the flag of a jump is set, after all calls before it have finished.
  virtual bool flag(const std::byte* at) const = 0;
  // After fill_pattern, touched_bytes is one past the highest byte written, rounded up to 64.
  virtual void fill_pattern() = 0;
  virtual int64_t touched_bytes() const = 0;

  // Where calls return before they have finished: their queue, and the words in which kernels say
  // that a check failed. Null where a call's return is its end.
  virtual void* queue() const { return nullptr; }
  virtual void* fault() const { return nullptr; }
  // The time that the queue takes from here to stop_clock, which waits for it, in ns; 0 without a
  // queue.
  virtual void start_clock() {}
  virtual int64_t stop_clock() { return 0; }
  // Waits for all calls. The first check that failed since the last time, if one did: no kernel
  // after it has written anything.
  virtual std::optional<QueuedFault> finish() { return {}; }
};

}  // namespace cleave
