// How many pieces of a call may run at once (lanes). Each lane has its own scratch, which counts in
// the planned peak: a lane that saves less time than its thread takes to wake isn't worth it.
#pragma once
#include <algorithm>

namespace cleave::runtime {

constexpr long max_lanes = 16;
constexpr double waking_cycles = 8000;  // of a thread, from parallel_for to its first piece

// Depends on the modelled work alone, in cycles of one core: each lane must have at least the work
// of three wakings (10 us at 2.4 GHz). For products two, since a lane packs little: one of 22 us on
// a Zen 5 takes 12 us with two lanes.
constexpr double product_wakings = 2;
inline long lanes_for(double cycles, long pieces, double wakings = 3) {
  const double worth = std::clamp(cycles / (wakings * waking_cycles), 1.0, double{max_lanes});
  return std::min(pieces, static_cast<long>(worth));
}

}  // namespace cleave::runtime
