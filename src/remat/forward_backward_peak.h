// The planned peak of a joint graph that runs as two programs, one after the other.
//
//   forward    placeholders but tangents  +  arena (results and saved values until its end)
//   backward   placeholders  +  results  +  saved values  +  arena
//
// The caller holds all placeholders and what the forward returned until the backward has ended. A
// saved placeholder isn't copied. Symbolic sizes count at their hints.
#pragma once
#include <limits>

#include "cut/partition.h"
#include "remat/program_planner.h"

namespace cleave {

struct ForwardBackwardPeak {
  int64_t forward = 0, backward = 0;
  // What is in memory between the two runs: placeholders but tangents, results, saved values.
  int64_t between = 0;
  int64_t peak() const { return std::max(forward, backward); }
};

// A half as it is measured and drawn: symbols replaced by their hints, then ProgramPlanner's
// prepare_cut.
Result<Graph> prepared_half(const Graph& half, ProgramPlanner& planner);

// The exact peak if it may be within `room`. If it can't, whatever the offsets, they aren't planned
// for at least one half, which counts the most bytes that are alive at once: a lower bound of the
// peak, above `room`. Errors: those of lowering.
Result<ForwardBackwardPeak> forward_backward_peak(
    const Graph& joint, const Partition& cut, ProgramPlanner& planner,
    int64_t room = std::numeric_limits<int64_t>::max());

}  // namespace cleave
