// The last task seen at each place of a graph (ShrinkingLinks::Place): an open-addressed table, for
// series_parallel.h, which queries it once for each change of a task.
#pragma once
#include <bit>
#include <cstdint>
#include <vector>

#include "plan/task_graph.h"

namespace cleave::plan {

class PlaceTable {
 public:
  explicit PlaceTable(size_t places) : slots_(std::bit_ceil(2 * places + 2)) {}

  // Returns the task at the place with this hash; if there is none, inserts v and returns it.
  TaskId& at(uint64_t hash, TaskId v) {
    if (2 * ++used_ > slots_.size()) grow();
    Slot& slot = find(slots_, hash);
    if (slot.task != none)
      --used_;
    else
      slot = {hash, v};
    return slot.task;
  }

 private:
  static constexpr TaskId none = UINT32_MAX;
  struct Slot {
    uint64_t hash = 0;
    TaskId task = none;
  };

  static Slot& find(std::vector<Slot>& slots, uint64_t hash) {
    const size_t mask = slots.size() - 1;
    size_t i = (hash * 0x9e3779b97f4a7c15u) >> (64 - std::bit_width(mask));
    while (slots[i].task != none && slots[i].hash != hash) i = (i + 1) & mask;
    return slots[i];
  }
  void grow() {
    std::vector<Slot> larger(2 * slots_.size());
    for (const Slot& s : slots_)
      if (s.task != none) find(larger, s.hash) = s;
    slots_.swap(larger);
  }

  std::vector<Slot> slots_;
  size_t used_ = 0;
};

}  // namespace cleave::plan
