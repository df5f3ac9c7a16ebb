#include "run/cpu_kernel.h"

#include <algorithm>

namespace cleave {
namespace {

// Elements of a piece: enough work to be worth passing to another thread.
constexpr int64_t piece_elements = 1 << 15;

struct PieceFault {
  int64_t check, values[2];  // check 0: none failed; values are not set
};

struct PhaseRun {
  const CpuPhase& phase;
  void* const* buffers;
  const int64_t* scalars;
  PieceFault* faults;
};

void run_piece(void* context, long piece) {
  const auto& r = *static_cast<PhaseRun*>(context);
  const int64_t n = r.phase.extent, pieces = r.phase.pieces;
  // n * piece / pieces, written so that the product can't overflow.
  const int64_t begin = n / pieces * piece + n % pieces * piece / pieces;
  const int64_t end = n / pieces * (piece + 1) + n % pieces * (piece + 1) / pieces;
  PieceFault& fault = r.faults[piece];
  fault.check = r.phase.run(r.buffers, r.scalars, begin, end, fault.values);
}

}  // namespace

CpuKernel::CpuKernel(std::vector<CpuPhase> phases, std::vector<CheckText> checks, int64_t work)
    : phases_(std::move(phases)), checks_(std::move(checks)) {
  for (CpuPhase& p : phases_) {
    p.pieces = std::clamp<int64_t>(work / piece_elements, 1, max_pieces);
    p.pieces = std::max<int64_t>(1, std::min(p.pieces, p.extent));
  }
}

std::optional<Fault> CpuKernel::call(void* const* buffers, const int64_t* scalars,
                                     const RunContext& context) const {
  PieceFault faults[max_pieces];
  for (const CpuPhase& phase : phases_) {
    if (phase.extent == 0) continue;
    PhaseRun run{phase, buffers, scalars, faults};
    if (phase.pieces == 1)
      run_piece(&run, 0);
    else
      context.executor.parallel_for(phase.pieces, run_piece, &run);
    if (checks_.empty()) continue;
    for (int64_t p = 0; p < phase.pieces; ++p)
      if (const PieceFault& f = faults[p]; f.check)
        return fault_of({.check = f.check - 1, .index = f.values[0], .bound = f.values[1]});
  }
  return std::nullopt;
}

}  // namespace cleave
