// Finds a sequence within a limit by recomputing blocks of what a cut would recompute.
//
//   order at its peak   a b c d e f g h |     all of it may be gone, and run again after the peak
//   every 4th stays     a . . . e . . . |     then blocks of 3 are in memory one after the other
//   of the first half   . . . . e f g h |     and what comes later stays
//
// A price for bytes can't tell equal values apart: it keeps all layers of a chain or none
// (moment_cut.h). Here the distance between the values that stay is tried in powers of two, and for
// each the least part of the order that is treated so is found by bisection. For a chain of n equal
// tasks, that is within a constant of the best for limits down to O(sqrt(n)).
// Source: Chen et al., "Training deep nets with sublinear memory cost", 2016: the case of a chain.
#pragma once
#include "plan/cut_sequence.h"

namespace cleave::plan {

// The sequence within the limit that takes the least time, else the one with the least peak;
// nothing if nothing may run again. O(log(n)^2) simulations of the sequence.
std::optional<CutSequence> blocks_to_limit(const TaskGraph& graph, std::span<const TaskId> order,
                                           int64_t limit);

}  // namespace cleave::plan
