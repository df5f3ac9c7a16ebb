// The planned peak of a joint graph that runs as two programs, one after the other.
//
//   forward    placeholders but tangents  +  arena (results and saved values to its end)
//   backward   placeholders  +  results  +  saved values  +  arena
//
// The caller holds all placeholders and what the forward returned until the backward has ended. A
// saved placeholder stays where it is. Symbolic sizes count at their hints.
#pragma once
#include <limits>

#include "cut/partition.h"
#include "remat/program_planner.h"

namespace cleave {

struct ForwardBackwardPeak {
  int64_t forward = 0, backward = 0;
  // What is in memory between the two, whatever the halves do: placeholders, results, saved values.
  int64_t between = 0;
  int64_t peak() const { return std::max(forward, backward); }
};

// A half as it is measured and drawn: symbols at their hints, fused, nothing else rewritten.
Result<Graph> prepared_half(const Graph& half, ProgramPlanner& planner);

// Where it may be within `room`. Where it can't, whatever the offsets, some aren't planned, and it
// counts the bytes that are alive at once: a lower bound, above `room`. Errors: those of lowering.
Result<ForwardBackwardPeak> forward_backward_peak(
    const Graph& joint, const Partition& cut, ProgramPlanner& planner,
    int64_t room = std::numeric_limits<int64_t>::max());

}  // namespace cleave
