// Calls of a stream as one CUDA graph: what it is asked for stands in run/queue_graph.h.
#pragma once
#include <vector>

#include "backend/cuda/device.h"
#include "run/queue_graph.h"

namespace cleave::cuda {

// The stream outlives it.
class StreamGraph final : public QueueGraph {
 public:
  StreamGraph(CudaDevicePtr device, CUstream stream)
      : device_(std::move(device)), stream_(stream) {}
  ~StreamGraph() override { drop(); }

  Status begin(std::span<void* const> pointers) override;
  Status end() override;
  bool holds(std::span<void* const> pointers) const override;
  Status launch() override;

 private:
  void drop() noexcept;

  const CudaDevicePtr device_;
  const CUstream stream_;
  std::vector<void*> pointers_;
  CUgraphExec graph_ = nullptr;
};

}  // namespace cleave::cuda
