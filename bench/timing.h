// Times of something that is run again and again.
#pragma once
#include <algorithm>
#include <chrono>
#include <vector>

namespace cleave::bench {

// The median of the runs behind a first one that doesn't count: `least` of them at the least, and
// as many as take `enough_ms` together.
template <class F>
double median_ms(const F& run, size_t least = 5, double enough_ms = 300) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> times;
  double sum = 0;
  run();
  while (times.size() < least || (sum < enough_ms && times.size() < 1000)) {
    const auto begin = Clock::now();
    run();
    times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
    sum += times.back();
  }
  std::ranges::sort(times);
  return times[times.size() / 2];
}

}  // namespace cleave::bench
