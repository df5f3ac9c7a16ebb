// Runs pieces of work on a number of lanes, each of which has its own scratch. As in a thread pool
// (thread_pool.cpp) neighbouring pieces are run by one lane as far as possible.
#pragma once
#include <algorithm>
#include <atomic>

#include "cleave/executor.h"

namespace cleave::runtime {

// Calls f(lane, index) once for each index below `pieces`; a lane takes those of its share, then
// what others have left.
template <class F>
void run_lanes(long lanes, long pieces, Executor& executor, const F& f) {
  constexpr long most = 16;
  struct alignas(64) Share {
    std::atomic<long> next;
    long end;
  };
  struct Run {
    const F& f;
    long lanes, shares, visited;  // visited: shares that a lane looks at
    Share share[most];
  };
  const long shares = std::clamp(std::min<long>(lanes, executor.threads()), 1L, most);
  Run run{f, lanes, shares, pieces <= shares ? 1 : shares, {}};
  for (long i = 0; i < run.shares; ++i) {
    run.share[i].next.store(pieces * i / run.shares, std::memory_order_relaxed);
    run.share[i].end = pieces * (i + 1) / run.shares;
  }
  executor.parallel_for(
      lanes,
      [](void* context, long lane) {
        Run& r = *static_cast<Run*>(context);
        const long own = lane * r.shares / r.lanes;
        for (long k = 0; k < r.visited; ++k) {
          Share& s = r.share[(own + k) % r.shares];
          while (s.next.load(std::memory_order_relaxed) < s.end) {
            const long i = s.next.fetch_add(1, std::memory_order_relaxed);
            if (i < s.end) r.f(lane, i);
          }
        }
      },
      &run);
}

}  // namespace cleave::runtime
