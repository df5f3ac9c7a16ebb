// Which calls of a program run beside others where a device notes them as a graph
// (run/queue_graph.h): the small ones, which leave most of the machine idle, unless the next large
// one waits for them.
//
//   lane 0    product a     product b             norm d (reads c)
//   lane 1                  update of a's bias                       waits for a
//   lane 2                  c (small)                                waits for a; d waits for c
//
// Results are those of one call after the other: what accesses the same bytes, one of them writing,
// stays in order, and so does a check before what comes after it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cleave {

struct MemoryUse {
  const std::byte* begin = nullptr;
  int64_t bytes = 0;
  bool is_written = false;
};

struct CallUse {
  std::vector<MemoryUse> memory;
  bool is_small = false;  // it may leave lane 0
  bool may_fail = false;
};

struct CallOrder {
  static constexpr size_t lanes = 9;  // lane 0 is the queue

  struct Call {
    size_t lane = 0;
    std::vector<size_t> waits;  // for calls of other lanes before it
    bool is_waited_for = false;
  };
  std::vector<Call> calls;
  std::vector<size_t> ends;  // of the other lanes, which lane 0 waits for at the end
  bool has_lanes() const;    // whether a call has left lane 0
};

// Of more than 8192 calls all stay on lane 0: it takes O(n^2) at worst.
CallOrder order_calls(const std::vector<CallUse>& calls);

}  // namespace cleave
