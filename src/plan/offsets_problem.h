// An offset problem in reduced form: without empty buffers, sizes divided by their common divisor,
// times merged into sections.
//
//   time      0   1   2   3   4   5         a section is a longest run of births followed by
//   a         |-------|                     deaths: only there can the memory be at its peak, and
//   b             |-------|                 two buffers overlap exactly if they share a section
//   c                     |-------|
//   sections  [  0        )[  1   )         a: [0,1)  b: [0,1)  c: [1,2)
#pragma once
#include <cstdint>
#include <vector>

#include "plan/offsets.h"

namespace cleave::plan {

struct OffsetProblem {
  struct Buffer {
    int32_t first = 0, last = 0;  // sections [first, last)
    int64_t size = 0;             // in units, at least 1
    int64_t time = 0;             // length of the lifetime
    int64_t tightest = 0;         // the largest total among its sections
    size_t index = 0;             // in the caller's list
  };
  std::vector<Buffer> buffers;
  int64_t unit = 1;            // what one unit is: the alignment times the sizes' common divisor
  std::vector<int64_t> total;  // by section: sum of sizes
  int64_t bound = 0;           // the largest total

  int32_t sections() const { return static_cast<int32_t>(total.size()); }
  size_t size() const { return buffers.size(); }
};

// By buffer of the problem; -1 if it isn't placed.
using Placement = std::vector<int64_t>;

OffsetProblem make_offset_problem(const std::vector<Lifetime>& buffers, int64_t alignment);
int64_t height_of(const OffsetProblem& p, const Placement& at);

}  // namespace cleave::plan
