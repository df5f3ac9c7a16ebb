// The calls of a run as one graph, which the device starts in one step: a launch costs microseconds
// for all of them in place of microseconds each.
//
//   if (graph.holds(pointers)) return graph.launch(queue);
//   CLEAVE_CHECK(graph.begin(queue, pointers));
//   ... the calls, which are noted and not run ...
//   if (graph.end(queue).ok()) return graph.launch(queue);
//   ... the calls again, which run: one of them can't be noted ...
//
// Between begin and end nothing may wait for the queue (ArenaMemory::finish and flag). Calls keep
// the arguments that they had: the pointers given to begin, scalars, launches.
#pragma once
#include <span>
#include <vector>

#include "backend/cuda/device.h"

namespace cleave::cuda {

// Not thread-safe, as the arena whose queue it is for.
class StreamGraph {
 public:
  explicit StreamGraph(CudaDevicePtr device) : device_(std::move(device)) {}
  ~StreamGraph() { drop(); }
  StreamGraph(const StreamGraph&) = delete;
  StreamGraph& operator=(const StreamGraph&) = delete;

  // Drops what was noted before. Errors (bug): those of the driver.
  Status begin(void* queue, std::span<void* const> pointers);
  // Errors (unsupported): a call between the two that can't be noted, with what the driver says.
  // The queue is as it was, and no graph is held.
  Status end(void* queue);
  // Whether end() has made a graph for the same pointers.
  bool holds(std::span<void* const> pointers) const;
  // Queues all of its calls. Errors (bug): those of the driver; no graph is held.
  Status launch(void* queue) const;
  void drop() noexcept;

 private:
  const CudaDevicePtr device_;
  std::vector<void*> pointers_;
  CUgraphExec graph_ = nullptr;
};

}  // namespace cleave::cuda
