// What a job costs beside its work: microseconds of parallel_for with a piece of nothing for each
// thread, on 2 threads and more, and the same with pieces of about 5 us.
//
//   bench_threads [MOST_THREADS]     default: one for each core
//
// `empty`: the least and the median of many jobs one after the other, as the kernels of a step
// come. `work`: how much longer than one piece a job takes of a 5 us piece for each thread.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <thread>
#include <vector>

#include "bench/timing.h"
#include "cleave/executor.h"

namespace {

using cleave::bench::Clock;
using cleave::bench::ms_since;

void nothing(void*, long) {}

void five_microseconds(void*, long) {
  const Clock::time_point end = Clock::now() + std::chrono::microseconds(5);
  while (Clock::now() < end) {}
}

struct Times {
  double least, median;
};

Times jobs(cleave::Executor& executor, void (*f)(void*, long)) {
  constexpr int count = 20000;
  std::vector<double> times(count);
  for (double& t : times) {
    const Clock::time_point begin = Clock::now();
    executor.parallel_for(executor.threads(), f, nullptr);
    t = 1e3 * ms_since(begin);
  }
  std::sort(times.begin(), times.end());
  return {times.front(), times[count / 2]};
}

}  // namespace

int main(int argc, char** argv) {
  const int most = argc > 1 ? std::atoi(argv[1]) : int(std::thread::hardware_concurrency());
  fmt::print("{:>7} {:>10} {:>10} {:>10}   us\n", "threads", "empty min", "median", "work");
  for (int threads = 2; threads <= std::max(most, 2); threads *= 2) {
    const auto executor = cleave::make_thread_pool(threads);
    const Times empty = jobs(*executor, nothing), work = jobs(*executor, five_microseconds);
    fmt::print("{:7} {:10.2f} {:10.2f} {:10.2f}\n", threads, empty.least, empty.median,
               work.median - 5);
  }
}
