// Which values lie in other memory for a while, so that a program's own stays within a limit: a
// value that isn't touched for long is copied out behind a touch and in again ahead of the next,
// beside the calls, which wait for no copy.
//
//   position      0   1   2   3   4   5   6      the copies take the time of two positions each
//   v touched     x                       x
//   copy out          =======                    begun behind 0, over before 3
//   copy in                       =======        begun before 4, over before 6
//   v in memory   #---#---#           #---#---#  absent at 3
//
// A copy each way at a time, in the order of the touches: those out as early as can be, those in as
// late. Values whose gaps are longest go first, since they keep the copies busy from the beginning
// on. After that, those without which the limit holds too come back.
//
// After Rhu et al., "vDNN", MICRO 2016, and Peng et al., "Capuchin", ASPLOS 2020, which choose
// by layer and by measured access times.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace cleave::plan {

struct OffloadValue {
  int64_t bytes = 0;
  std::vector<int64_t> touches;  // positions, ascending, at least one
  bool to_the_end = false;       // it is alive behind the last one too
};

struct OffloadProblem {
  std::vector<int64_t> ns;  // by position
  std::vector<OffloadValue> values;
  int64_t limit = 0;        // bytes alive at a position
  double bytes_per_ns = 0;  // each way; above 0
  int64_t ns_per_copy = 0;  // beside its bytes
};

struct Offload {
  size_t value = 0;
  size_t gap = 0;                          // between touches `gap` and `gap` + 1
  int64_t absent_from = 0, absent_to = 0;  // positions [from, to)
};

// In the order of their copies out. Nullopt: no set was found that stays within the limit.
// O(n * c^2) at the worst, for c gaps that are long enough.
std::optional<std::vector<Offload>> plan_offloads(const OffloadProblem& problem);

}  // namespace cleave::plan
