// Images as planes with a border of zeros, in which a tap is a fixed distance: a convolution of few
// channels sums over vectors of positions without asking where an image ends.
//
// Along each dim position p of a result reads what stands at (p + offset) * stride + residue, a
// tap having one residue and one offset. So a plane is stored in `slots`, one for each residue that
// a tap has; within a slot neighbours are `stride` apart in the image:
//
//   slot, row, column  at  ((slot * extent[0] + depth) * extent[1] + row) * extent[2] + column
//
// Positions of a result are numbered by the same extents, gaps behind its rows included.
#pragma once
#include <vector>

#include "runtime/convolution_windows.h"

namespace cleave::runtime {

// The taps that positions base, base + step, ... of the result read, along one dim.
struct PhaseDim {
  struct Tap {
    int64_t index, residue, offset;
  };
  int64_t base = 0, count = 0;
  std::vector<Tap> taps;
};

// to_small has one phase, to_large one for each remainder of a position modulo the stride.
std::vector<PhaseDim> phase_dims(const ConvolutionSpec& spec, size_t dim);

// Of a layout's last dim.
constexpr int64_t most_slots = 8;

struct PlaneLayout {
  Sizes3 stride = {1, 1, 1}, size = {1, 1, 1};  // of the image
  Sizes3 first = {0, 0, 0};                     // what stands at the begin of a slot, as an offset
  Sizes3 extent = {1, 1, 1}, slots = {1, 1, 1};
  std::vector<int64_t> slot_of[3];  // of a residue; -1: no tap reads it

  int64_t slot_numbers() const { return product_of(extent); }
  int64_t numbers() const { return product_of(slots) * slot_numbers(); }
};

PlaneLayout plane_layout(const std::vector<PhaseDim> (&phases)[3], const Sizes3& stride,
                         const Sizes3& size);

// The taps of a phase in row-major order: which number of the kernel, how far from a position.
struct PlaneTap {
  int64_t index, offset;
};
std::vector<PlaneTap> plane_taps(const PlaneLayout& layout, const Sizes3& kernel,
                                 const PhaseDim* const (&dims)[3]);

}  // namespace cleave::runtime
