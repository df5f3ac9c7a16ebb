// A flat loop that does several things with no memory in common, as a loop for each: the updates of
// parameters of equal sizes. A thread that did one after the other would wait for the memory of
// each; as loops they share the blocks of one launch (merge_phases.h).
//
//   for p in n parallel {              for p in n parallel {       for p in n parallel {
//     %a[p] = %a[p] - %lr[0]*%x[p]       %a[p] = ...                 %b[p] = ...
//     %b[p] = %b[p] - %lr[0]*%y[p]     }                           }
//   }
//
// Buffers of one element that nothing writes are what they may share: they are in a cache.
#pragma once
#include "simt/map_threads.h"

namespace cleave::simt {

// In the order of their first stores. `loop` itself, alone, where its statements are others than
// definitions and stores, or belong together.
std::vector<loop::For> split_parts(const loop::For& loop, const std::vector<loop::Buffer>& buffers,
                                   const BufferPairs& shared);

}  // namespace cleave::simt
