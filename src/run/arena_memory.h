#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"

namespace cleave {

class QueueGraph;

// A copy between the arena and the host's room for it.
struct ArenaCopy {
  size_t number = 0;  // of at most one that has begun and not ended
  bool is_out = false;
  std::byte* at = nullptr;  // in the arena
  int64_t host_offset = 0, bytes = 0;
};

// A check that failed on a queue: numbers of the call (RunContext::thunk) and of the check in its
// kernel, and the values of Fault.
struct QueuedFault {
  int64_t thunk = 0, check = 0;
  int64_t index = 0, bound = 0;
};

// The memory of one instance, and how much of it was used.
//
// Where calls return before they have finished, runs can follow each other without a wait between
// them, in turns:
//
//   queue()        calls of run n  copy_faults(0)  mark(0)  calls of run n + 1  copy_faults(1) ...
//   copy_queue()                  inputs of run n + 1  join_copies()
//   the host       ...                             finish_turn(0): run n is over
class ArenaMemory {
 public:
  virtual ~ArenaMemory() = default;
  virtual std::byte* data() const = 0;  // aligned to storage_alignment; null for 0 bytes
  virtual int64_t size_bytes() const = 0;
  // Whether the flag of a jump is set, after all calls before it have finished.
  virtual bool flag(const std::byte* at) const = 0;
  // After fill_pattern, touched_bytes is one past the highest byte written, rounded up.
  virtual void fill_pattern() = 0;
  virtual int64_t touched_bytes() const = 0;

  // ---- values that lie in the host's memory for a while (TransferCall)
  // Room for them there. Errors (user): the system refuses it.
  virtual Status reserve_host(int64_t bytes) {
    return bytes == 0 ? Status() : bug("this arena has no room in the host's memory");
  }
  // Copies behind all calls so far, and beside those that follow where calls return early. Those
  // from end_copy on run behind it.
  virtual void begin_copy(const ArenaCopy& /*copy*/) {}
  virtual void end_copy(size_t /*number*/) {}

  // Where calls return before they have finished: their queue, and the words in which kernels say
  // that a check failed. Null where a call's return is its end.
  virtual void* queue() const { return nullptr; }
  virtual void* fault() const { return nullptr; }
  // The times of calls on the queue. start_times: before the first of about `calls` that follow,
  // which begin once most of them are queued, so that none waits for the host; mark_time: behind
  // one. take_times waits for all, and gives the ns of each marked one.
  virtual void start_times(size_t /*calls*/) {}
  virtual void mark_time() {}
  virtual std::vector<int64_t> take_times() { return {}; }
  // Waits for all calls. The first check that failed since the last time, if one did: no kernel
  // after it has written anything.
  virtual std::optional<QueuedFault> finish() { return {}; }

  // ---- runs that aren't waited for; without a queue none of these is called
  static constexpr size_t turns = 2;
  // For copies beside the calls. join_copies: calls from here on run behind all that is on it now.
  virtual void* copy_queue() const { return nullptr; }
  virtual void join_copies() {}
  // Behind the calls of a run: copies the words of faults for the host, which may be noted; marks
  // where the run ends, which may not.
  virtual void copy_faults(size_t /*turn*/) {}
  virtual void mark(size_t /*turn*/) {}
  // Waits for that mark alone. The first check that failed before it: then all that is queued was
  // waited for, and has done nothing.
  virtual std::optional<QueuedFault> finish_turn(size_t /*turn*/) { return finish(); }
  // ---- lanes: queues beside the arena's own, lane 0, while calls are noted (run/call_order.h)
  // Before calls are noted: how many lanes, of how many calls. Errors (bug): those of the device.
  virtual Status reserve_lanes(size_t /*lanes*/, size_t /*calls*/) { return {}; }
  virtual void* lane(size_t /*lane*/) const { return queue(); }
  // Lane 0 is so far before the lane's first call.
  virtual void fork_lane(size_t /*lane*/) {}
  // end_call: behind a call of the lane; wait_for_call: the lane's next one comes after it.
  virtual void end_call(size_t /*lane*/, size_t /*call*/) {}
  virtual void wait_for_call(size_t /*lane*/, size_t /*call*/) {}
  // Of calls on the queue and its lanes (run/queue_graph.h). Null: they can't be noted.
  virtual std::shared_ptr<QueueGraph> make_graph() { return nullptr; }
};

}  // namespace cleave
