// Makes a loop nest the kernels of a GPU: which thread runs which iterations of its loops.
//
//   flat   a parallel loop whose iterations are small: a thread takes some neighbours
//   teams  any other: a team of threads takes an iteration, and shares out the loops and folds in
//          it (team.h); serial statements each thread runs for itself, and one of them stores
//
// Sums are folded in another order than loop/kernel.h says, but one that depends on the shape alone
// (team.h), in f64 above 8 neighbours.
#pragma once
#include <optional>

#include "simt/kernel.h"

namespace cleave::simt {

// From which sizes on threads get more to do, so that they have enough reads under way; below,
// there are more threads. No bits hang on them.
struct MapSizes {
  int64_t many_blocks = 264;                                    // fill a large device
  int64_t medium = int64_t{1} << 17, large = int64_t{1} << 21;  // elements of a flat loop
};

// Buffers that may be in one place, of which one is written: their accesses stay in order.
using BufferPairs = std::vector<std::pair<size_t, size_t>>;

// shared: of the kernel's buffers; nullopt: any two of them. Precondition: the kernel is scheduled.
Kernel map_threads(const loop::Kernel& kernel, const MapSizes& sizes = {},
                   const std::optional<BufferPairs>& shared = BufferPairs());

}  // namespace cleave::simt
