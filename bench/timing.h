// Clocks, and the time of repeated runs.
#pragma once
#include <time.h>

#include <algorithm>
#include <chrono>
#include <vector>

namespace cleave::bench {

using Clock = std::chrono::steady_clock;

inline double ms_since(Clock::time_point t) {
  return std::chrono::duration<double, std::milli>(Clock::now() - t).count();
}

// The processor time of this thread.
inline double thread_seconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

// The median of the runs after a first one that doesn't count: `least` of them at the least, and
// as many as take `enough_ms` together.
template <class F>
double median_ms(const F& run, size_t least = 5, double enough_ms = 300) {
  std::vector<double> times;
  double sum = 0;
  run();
  while (times.size() < least || (sum < enough_ms && times.size() < 1000)) {
    const auto begin = Clock::now();
    run();
    times.push_back(ms_since(begin));
    sum += times.back();
  }
  std::ranges::sort(times);
  return times[times.size() / 2];
}

}  // namespace cleave::bench
