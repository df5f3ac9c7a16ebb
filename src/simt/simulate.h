// Runs a kernel thread by thread without a GPU, and looks at each access of memory: what a test can
// know about a kernel before it runs on the machine that it is for.
//
//   Simulation s = simulate(kernel, buffers, scalars);
//   s.defects       "%y[3]: threads 0 and 5 of block 2 write without a barrier between"
//   s.fault         the check that failed
//
// The threads of a block run each statement together, those that are there; blocks run one after
// the other. Found are
//
//   - two threads that access an element, one of them writing, without a barrier of their team
//     between; threads of two blocks at all, within a phase
//   - an access out of a buffer's bounds, a wide one that isn't aligned, an element of shared
//     memory or of the thread's that is read before it is written
//   - a barrier or an exchange that some threads of a team reach and others don't
//   - a variable that a scope declares twice, which no C compiler takes (scopes.h)
//
// Functions have the bits of the CPU (emit/instruction.h).
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "simt/kernel.h"

namespace cleave::simt {

struct Simulation {
  struct Failed {
    size_t check = 0;  // its number in the kernel, from 0
    int64_t value = 0, bound = 0;
  };
  std::optional<Failed> fault;
  std::vector<std::string> defects;  // the first of each phase
};

// `buffers` are host memory of the kernel's global buffers, aligned to 16 bytes; `scalars` as
// passed to a call.
Simulation simulate(const Kernel& kernel, std::span<void* const> buffers,
                    std::span<const int64_t> scalars);

}  // namespace cleave::simt
