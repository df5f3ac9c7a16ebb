// Runs pieces of work on a number of lanes, each of which has its own scratch.
#pragma once
#include <atomic>

#include "cleave/executor.h"

namespace cleave::runtime {

// Calls f(lane, index) once for each index below `pieces`; a lane takes the next one when it is
// free.
template <class F>
void run_lanes(long lanes, long pieces, Executor& executor, const F& f) {
  struct Run {
    const F& f;
    long pieces;
    std::atomic<long> next = 0;
  } run{f, pieces};
  executor.parallel_for(
      lanes,
      [](void* context, long lane) {
        Run& r = *static_cast<Run*>(context);
        for (long i = r.next.fetch_add(1, std::memory_order_relaxed); i < r.pieces;
             i = r.next.fetch_add(1, std::memory_order_relaxed))
          r.f(lane, i);
      },
      &run);
}

}  // namespace cleave::runtime
