// How many pieces of a call may run at once. Each lane has scratch of its own, which counts in the
// planned peak: a lane that saves less time than its thread takes to wake isn't worth its memory.
#pragma once
#include <algorithm>

namespace cleave::runtime {

constexpr long max_lanes = 16;
constexpr double waking_cycles = 8000;  // a thread, from parallel_for to its first piece

// By modelled work alone, in cycles of one core: the least for each lane is what three wakings take
// (10 us at 2.4 GHz). Products pack little for a lane: two, as those of 22 us on a Zen 5 take 12
// with two lanes.
constexpr double product_wakings = 2;
inline long lanes_for(double cycles, long pieces, double wakings = 3) {
  const double worth = std::clamp(cycles / (wakings * waking_cycles), 1.0, double{max_lanes});
  return std::min(pieces, static_cast<long>(worth));
}

}  // namespace cleave::runtime
