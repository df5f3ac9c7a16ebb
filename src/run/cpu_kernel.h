// A kernel on the cores of the host: its phases run one after the other, a parallel one in pieces
// [begin, end) of its range, on any threads. The pieces don't depend on the number of threads.
#pragma once
#include <memory>
#include <vector>

#include "run/kernel_function.h"
#include "run/phase.h"

namespace cleave {

constexpr int64_t max_pieces = 64;

// Machine code, or another form of it where there is no compiler.
struct CpuPhase {
  using Function = int64_t (*)(void* const* buffer, const int64_t* scalar, int64_t begin,
                               int64_t end, int64_t* fault);
  Function function = nullptr;
  std::shared_ptr<const InterpretedPhase> interpreted = nullptr;
  int64_t extent = 1, pieces = 1;

  int64_t run(void* const* buffer, const int64_t* scalar, int64_t begin, int64_t end,
              int64_t* fault) const {
    return function ? function(buffer, scalar, begin, end, fault)
                    : interpreted->run(buffer, scalar, begin, end, fault);
  }
};

class CpuKernel final : public KernelFunction {
 public:
  // `work`: elements that the kernel visits (Kernel::work).
  CpuKernel(std::vector<CpuPhase> phases, std::vector<CheckText> checks, int64_t work);
  std::optional<Fault> call(void* const* buffers, const int64_t* scalars,
                            const RunContext& context) const override;
  Fault fault_of(const QueuedFault& failed) const override {
    return cleave::fault_of(checks_, failed);
  }

 private:
  std::vector<CpuPhase> phases_;
  const std::vector<CheckText> checks_;
};

}  // namespace cleave
