// An arena in the device's memory, with a queue of its own, and one for copies beside it when it is
// first needed.
//
//   | storages, rounded up to 256 bytes | faults: 4 i64 |      one allocation
//
// The words of faults: the failed check's number + 1 in the low half of the first and that of the
// call (RunContext::thunk) in its high half, the index, the bound.
#pragma once
#include <memory>

#include "backend/cuda/device.h"
#include "run/arena_memory.h"

namespace cleave::cuda {

// Errors: those of CudaDevice::allocate. What the device says later, when it fails at work that was
// queued, is a Bug, thrown by whatever waits.
Result<std::unique_ptr<ArenaMemory>> make_cuda_arena(const CudaDevicePtr& device, int64_t bytes);

}  // namespace cleave::cuda
