// Sees every allocation of the process between start() and stop(): all threads, all libraries.
//
//   AllocWatch watch;
//   watch.start();
//   step();
//   const AllocCounts seen = watch.stop();      // seen.allocations == 0
//
// It works where the executable replaces malloc and mmap by linking tool/alloc_watch.cpp; anywhere
// else (a Python process, a sanitizer's build) available() is false and all counts stay 0. The
// counters are the process's, so one watch at a time.
#pragma once
#include <atomic>
#include <cstdint>

namespace cleave::runtime {

struct AllocCounts {
  int64_t allocations = 0;      // calls of malloc, calloc, realloc, memalign, ...: operator new too
  int64_t frees = 0;            // calls of free of something
  int64_t allocated_bytes = 0;  // as asked for, all together
  int64_t maps = 0;             // calls of mmap by other code than malloc itself
  int64_t mmap_bytes = 0;       // as asked for, all together
  int64_t live_bytes = 0;       // heap blocks and maps, against start(): negative after net frees
  int64_t peak_live_bytes = 0;  // the greatest live_bytes so far, at least 0
};

// What the replacing functions write. Bytes of live heap blocks are malloc_usable_size's.
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
  AllocCounts counts() const;  // so far; the counting goes on
  AllocCounts stop();
};

}  // namespace cleave::runtime
