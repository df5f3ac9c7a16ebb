// The operands of an instance whose memory is a device's.
//
//   host memory --memcpy--> pinned --copy--> block on the device --> kernels     inputs, each run
//   host memory <--memcpy-- pinned <--copy-- block, arena <-- kernels            updates, results
//
// What is bound to memory of the device itself, such as a Variable's, isn't copied. Updates are
// copied back at the end of a run that succeeded; of results those of a few bytes are, such as a
// loss, the others when they are asked for.
//
// Runs that follow each other unwaited take turns (ArenaMemory::turns): inputs and small results
// have pinned memory and a block for each, made when the turn is first taken. A constant and an
// update have one alone (writes_shared()).
#pragma once
#include <array>
#include <mutex>
#include <vector>

#include "backend/device_memory.h"
#include "exec/executable.h"
#include "run/runner.h"

namespace cleave {

class DeviceOperands {
 public:
  // `runner` and `graph`, which is as it was lowered, outlive it.
  DeviceOperands(std::shared_ptr<DeviceMemory> memory, Runner& runner, const ThunkProgram& program,
                 const Graph& graph);

  const std::shared_ptr<DeviceMemory>& memory() const { return memory_; }
  // Errors: those of DeviceMemory.
  Status bind(size_t placeholder, const HostMemory& memory);
  void bind_there(size_t placeholder, void* data);

  // Whether the next run copies to or from memory that all turns share: it may follow none
  // unwaited.
  bool writes_shared() const;
  bool has_updates() const;  // of memory of the host

  // Around the thunks of a run. copy_in puts copies to the device of what is bound to memory of the
  // host on `queue`, binds the runner to the turn's blocks, and asks `release` as soon as memory
  // isn't needed. copy_out puts copies back on the arena's queue; it allocates nothing.
  Status copy_in(size_t turn, void* queue, const Instance::Release* release);
  Status copy_out(size_t turn);
  // When the run is over: if it succeeded, gives the host what it is to have. Else that memory
  // stays as it was.
  void end(size_t turn, bool succeeded);
  // Whatever came of the run: what was released is unbound.
  void unbind_released();

  // Memory of the host that holds result k, until the next run. Throws the device's error.
  const void* result(size_t k);
  // Of the run that ended last, if it is copied with each run; else null.
  const void* small_result(size_t k) const;
  bool overlaps_results(const void* data, int64_t bytes) const;
  // Elements of a placeholder in the run of a turn, for a message; null if there are none any more.
  const void* to_read(size_t placeholder, size_t turn);

 private:
  struct Copy {
    DeviceBlock block, staged;
  };
  struct Operand {
    void* host = nullptr;      // null: it is bound to memory of the device, or not at all
    bool is_constant = false;  // until it is bound again
    bool is_there = false;     // its elements are on the device for good
    bool is_updated = false;
    bool is_returned = false;
    bool is_released = false;
    std::array<Copy, ArenaMemory::turns> copies;  // by turn; the first alone if it is shared
    HostTensor to, from;  // of an update: the host's memory and that of the first copy
    size_t turn(size_t of_run) const { return is_constant || is_updated ? 0 : of_run; }
  };
  struct ResultCopy {
    std::array<DeviceBlock, ArenaMemory::turns> staged;
    bool is_small = false;  // copied with each run
    bool is_fresh = false;  // it holds the last run's
  };
  void* queue() const { return runner_.arena()->queue(); }
  int64_t result_bytes(size_t k) const;
  Status make(Copy& copy, int64_t bytes) const;
  Status make(DeviceBlock& staged, int64_t bytes) const;

  const std::shared_ptr<DeviceMemory> memory_;
  Runner& runner_;
  const ThunkProgram& program_;
  const Graph& graph_;
  std::vector<Operand> operands_;    // by placeholder
  std::vector<size_t> hosted_;       // placeholders that were ever bound to memory of the host
  std::vector<ResultCopy> results_;  // by return
  std::vector<size_t> small_;        // returns that are copied with each run
  size_t ended_ = 0;                 // the turn of the run that ended last
  std::vector<std::byte> read_;      // of to_read
  mutable std::mutex mutex_;         // of results_: several threads may ask for them
};

}  // namespace cleave
