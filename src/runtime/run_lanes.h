// Runs pieces of work on a number of lanes, each of which has its own scratch. As in a thread pool
// (thread_pool.cpp) neighbouring pieces are run by one lane as far as possible.
#pragma once
#include <algorithm>
#include <atomic>

#include "cleave/executor.h"

namespace cleave::runtime {

// The pieces in shares, one for each lane that may run at once. All lanes together take each piece
// once.
class LaneShares {
 public:
  LaneShares(long lanes, long pieces, int threads)
      : lanes_(lanes), shares_(std::clamp(std::min<long>(lanes, threads), 1L, most)),
        visited_(pieces <= shares_ ? 1 : shares_) {
    for (long i = 0; i < shares_; ++i) {
      share_[i].next.store(pieces * i / shares_, std::memory_order_relaxed);
      share_[i].end = pieces * (i + 1) / shares_;
    }
  }

  // Calls f(index) for the pieces of the lane's share, then for what others have left.
  template <class F>
  void run_lane(long lane, const F& f) {
    const long own = lane * shares_ / lanes_;
    for (long k = 0; k < visited_; ++k) {
      Share& s = share_[(own + k) % shares_];
      while (s.next.load(std::memory_order_relaxed) < s.end) {
        const long i = s.next.fetch_add(1, std::memory_order_relaxed);
        if (i < s.end) f(i);
      }
    }
  }

 private:
  static constexpr long most = 16;
  struct alignas(64) Share {
    std::atomic<long> next;
    long end;
  };
  const long lanes_, shares_, visited_;  // visited: shares that a lane looks at
  Share share_[most];
};

// Calls f(lane, index) once for each index below `pieces`.
template <class F>
void run_lanes(long lanes, long pieces, Executor& executor, const F& f) {
  struct Run {
    const F& f;
    LaneShares shares;
  };
  Run run{f, {lanes, pieces, executor.threads()}};
  executor.parallel_for(
      lanes,
      [](void* context, long lane) {
        Run& r = *static_cast<Run*>(context);
        r.shares.run_lane(lane, [&](long index) { r.f(lane, index); });
      },
      &run);
}

}  // namespace cleave::runtime
