// A kernel on the device: its phases are launched one after the other on the queue of the call.
//
//   SYMBOL(buffers..., scalars..., number of the call, words of faults)     8 bytes each
#pragma once
#include <memory>
#include <vector>

#include "backend/cuda/cuda_module.h"
#include "run/kernel_function.h"

namespace cleave::cuda {

struct CudaPhase {
  CUfunction function = nullptr;
  Launch launch;
};

class CudaKernel final : public KernelFunction {
 public:
  // Errors (bug): a launch that no device takes;
  // (unsupported): more arguments than a launch may have.
  static Result<std::unique_ptr<const KernelFunction>> make(CudaDevicePtr device,
                                                            std::vector<CudaPhase> phases,
                                                            std::vector<CheckText> checks);
  // context.queue is a CUstream, whose device the thread has taken up (ArenaMemory::queue). Returns
  // no fault. A failure of the driver is a Bug, thrown.
  std::optional<Fault> call(void* const* buffers, const int64_t* scalars,
                            const RunContext& context) const override;
  bool writes(size_t buffer) const override;
  Fault fault_of(const QueuedFault& failed) const override {
    return cleave::fault_of(checks_, failed);
  }

 private:
  CudaKernel(CudaDevicePtr device, std::vector<CudaPhase> phases, std::vector<CheckText> checks)
      : device_(std::move(device)), phases_(std::move(phases)), checks_(std::move(checks)) {}
  const CudaDevicePtr device_;  // null: built for a device that isn't here
  const std::vector<CudaPhase> phases_;
  const std::vector<CheckText> checks_;
};

}  // namespace cleave::cuda
