// The planned peak of a joint graph that runs as two programs, one after the other.
//
//   forward    placeholders but tangents  +  arena (results and saved values to its end)
//   backward   placeholders  +  results  +  saved values  +  arena
//
// The caller holds all placeholders and what the forward returned until the backward has ended. A
// saved placeholder stays where it is. Symbolic sizes count at their hints.
#pragma once
#include "cleave/target.h"
#include "cut/partition.h"
#include "ir/op_def.h"

namespace cleave {

struct ForwardBackwardPeak {
  int64_t forward = 0, backward = 0;
  // What is in memory between the two, whatever the halves do: placeholders, results, saved values.
  int64_t between = 0;
  int64_t peak() const { return std::max(forward, backward); }
};

// A half as it is measured and drawn: symbols at their hints, fused, nothing else rewritten.
Result<Graph> prepared_half(const Graph& half, const OpRegistry& ops);

// Errors: those of lowering.
Result<ForwardBackwardPeak> forward_backward_peak(const Graph& joint, const Partition& cut,
                                                  const OpRegistry& ops, const Target& target);

// The same where it may be within `room`. Where it can't, whatever the offsets, none are planned,
// and each half counts the bytes that are alive at once in it: a lower bound, above `room`.
Result<ForwardBackwardPeak> halves_peak_within(const Graph& joint, const Partition& cut,
                                               const OpRegistry& ops, const Target& target,
                                               int64_t room);

}  // namespace cleave
