// Which buffers of a kernel may be in one place, in whatever call, so that the order of their
// accesses matters: those of one storage, of which one is written, and two of the arena that a call
// may have in one place (InPlace).
#pragma once
#include <optional>
#include <vector>

#include "lower/program.h"
#include "simt/map_threads.h"

namespace cleave::cuda {

struct SharedBuffers {
  // None: the program doesn't call the kernel. What calls a function of a pool isn't known.
  std::optional<simt::BufferPairs> pairs;
  // By buffer: no other one is in its memory, so that a compiler may read it before it writes
  // others; elsewhere a store stands between any two reads. Nor are those alone that a kernel both
  // reads and writes: a compiler may move accesses of a __restrict__ pointer across a barrier.
  std::vector<bool> alone;
  friend auto operator<=>(const SharedBuffers&, const SharedBuffers&) = default;
};

// By kernel.
std::vector<SharedBuffers> shared_buffers(const LoweredProgram& program);

}  // namespace cleave::cuda
