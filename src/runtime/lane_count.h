// How many pieces of a call may run at once. Each lane has scratch of its own, which counts in the
// planned peak: a lane that saves less time than its thread takes to wake isn't worth its memory.
#pragma once
#include <algorithm>

namespace cleave::runtime {

constexpr long most_lanes = 16;
constexpr double waking_cycles = 8000;  // a thread, from parallel_for to its first piece

// By modelled work alone, in cycles of one core: the least for each lane is what two wakings take
// (7 us at 2.4 GHz). With three, products of 22 us on a Zen 5 had one lane, and took 12 with two.
inline long lanes_for(double cycles, long pieces) {
  const double worth = std::clamp(cycles / (2 * waking_cycles), 1.0, double{most_lanes});
  return std::min(pieces, static_cast<long>(worth));
}

}  // namespace cleave::runtime
