// Counts every allocation of the process between start() and stop(): all threads, all libraries.
//
//   AllocWatch watch;
//   watch.start();
//   step();
//   const AllocCounts seen = watch.stop();      // seen.allocations == 0
//
// It works if the executable replaces malloc and mmap by linking tool/alloc_watch.cpp; otherwise (a
// Python process, a build with sanitizers) available() is false and all counts stay 0. There is one
// set of counters in the process, so only one watch may be active at a time.
#pragma once
#include <atomic>
#include <cstdint>

namespace cleave::runtime {

struct AllocCounts {
  int64_t allocations = 0;      // calls of malloc, calloc, realloc, memalign, ..., operator new
  int64_t frees = 0;            // calls of free with a pointer that isn't null
  int64_t allocated_bytes = 0;  // sum of the requested sizes
  int64_t maps = 0;             // calls of mmap by other code than malloc itself
  int64_t mmap_bytes = 0;       // sum of the requested sizes
  int64_t live_bytes = 0;       // heap blocks and maps, relative to start(): may be negative
  int64_t peak_live_bytes = 0;  // the greatest live_bytes so far, at least 0
};

// The counters that the replaced functions update. The bytes of a live heap block are those of
// malloc_usable_size.
struct AllocTable {
  std::atomic<bool> on{false};
  std::atomic<int64_t> allocations{0}, frees{0}, allocated_bytes{0}, maps{0}, mmap_bytes{0};
  std::atomic<int64_t> live_bytes{0}, peak_live_bytes{0};

  void grow_live(int64_t bytes) {
    const int64_t live = live_bytes.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    int64_t peak = peak_live_bytes.load(std::memory_order_relaxed);
    while (live > peak && !peak_live_bytes.compare_exchange_weak(peak, live)) {}
  }
};

class AllocWatch {
 public:
  static bool available();
  void start();                // zeroes the counters
  AllocCounts counts() const;  // so far; counting continues
  AllocCounts stop();
};

}  // namespace cleave::runtime
