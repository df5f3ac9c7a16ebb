// Buffers that can only lie side by side in a placement within a capacity, joined into one.
//
//   a border between sections that are both full: what ends there lies where begins what begins
//
//     +---+-----+          a  ends, b and c begin, so b and c are a block: they are joined if they
//     | a |  c  |             end together too, and then they are joined with a
//     |   +-----+          Each order within a block of one lifetime is as good as any other.
//     |   |  b  |
//     +---+-----+          Without a full border nothing is joined.
//
// A block needs that no part of what ends is as large as a part of what begins: otherwise the
// place of either may be in several parts.
#pragma once
#include "plan/offsets_problem.h"

namespace cleave::plan {

struct JoinedProblem {
  struct Part {
    size_t buffer;     // of the problem before
    int64_t distance;  // from the joined buffer's offset, in units of the problem before
  };
  OffsetProblem problem;  // offsets times problem.unit are in units of the one before
  std::vector<std::vector<Part>> parts;  // by buffer of `problem`

  // The placement of the problem before, from one of this.
  Placement spread(const Placement& at) const;
};

// A placement of `p` within the capacity exists exactly if one of the result within capacity / unit
// does. About linear for few buffers a border.
JoinedProblem join_buffers(const OffsetProblem& p, int64_t capacity);

}  // namespace cleave::plan
