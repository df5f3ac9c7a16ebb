// Which buffers of a kernel share their memory with no other one, in whatever call: what a compiler
// may read before it writes others. Elsewhere a store stands between any two reads.
#pragma once
#include <vector>

#include "lower/program.h"

namespace cleave::cuda {

// By kernel and buffer. Not alone are two of one storage, of which one is written, those that a
// call may have in one place (InPlace), and all of a kernel that the program doesn't call: what
// calls a function of a pool isn't known. Nor are those that a kernel both reads and writes: a
// compiler may move accesses of a __restrict__ pointer across a barrier.
std::vector<std::vector<bool>> alone_buffers(const LoweredProgram& program);

}  // namespace cleave::cuda
