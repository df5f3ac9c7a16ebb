// The operands of an instance whose memory is a device's.
//
//   host memory --memcpy--> pinned --copy--> block on the device --> kernels     inputs, each run
//   host memory <--memcpy-- pinned <--copy-- block, arena <-- kernels            updates, results
//
// What is bound to memory of the device itself, such as a Variable's, isn't copied. Updates are
// copied back at the end of a run that succeeded; of results those of a few bytes are, such as a
// loss, the others when they are asked for.
#pragma once
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

  // Around the thunks of a run, all on its queue: copies to the device what is bound to memory of
  // the host, of which `release` is asked as soon as it isn't needed; copies back.
  Status copy_in(const Instance::Release* release);
  Status copy_out();
  // When the queue is done: gives the host what it is to have. Else its memory stays as it was.
  void succeed();
  // Whatever came of the run: what was released is unbound.
  void unbind_released();

  // Memory of the host that holds result k, until the next run. Throws the device's error.
  const void* result(size_t k);
  bool overlaps_results(const void* data, int64_t bytes) const;
  // Elements of a placeholder for a message; null if there are none any more.
  const void* to_read(size_t placeholder);

 private:
  struct Operand {
    void* host = nullptr;      // null: it is bound to memory of the device, or not at all
    bool is_constant = false;  // until it is bound again
    bool is_there = false;     // its elements are on the device for good
    bool is_updated = false;
    bool is_returned = false;
    bool is_released = false;
    DeviceBlock block, staged;
    HostTensor to, from;  // of an update: the host's memory and `staged`
  };
  struct ResultCopy {
    DeviceBlock staged;
    bool is_small = false;  // copied with each run
    bool is_fresh = false;  // it holds the last run's
  };
  void* queue() const { return runner_.arena()->queue(); }
  int64_t result_bytes(size_t k) const;
  Status fill(size_t k);

  const std::shared_ptr<DeviceMemory> memory_;
  Runner& runner_;
  const ThunkProgram& program_;
  const Graph& graph_;
  std::vector<Operand> operands_;    // by placeholder
  std::vector<ResultCopy> results_;  // by return
  std::vector<std::byte> read_;      // of to_read
  mutable std::mutex mutex_;         // of results_: several threads may ask for them
};

}  // namespace cleave
