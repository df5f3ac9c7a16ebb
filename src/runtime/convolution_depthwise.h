// What both depthwise products share: which channels are lanes, and where taps reach.
#pragma once
#include "runtime/convolution_planes.h"
#include "runtime/direct_block.h"

namespace cleave::runtime {

// Positions p of a result, of the phases of one dim, read p * step + at of the image for each tap
// of their phase. `first` is the least `at`, or 0 if that is less: no image begins before it.
struct DepthwiseDim {
  std::vector<PhaseDim> phases;
  int64_t step = 1, first = 0, last = 0;

  int64_t at(const PhaseDim::Tap& tap) const { return tap.offset * step + tap.residue; }
  int64_t most_positions() const;
  // How many numbers the taps of `positions` neighbours span.
  int64_t span(int64_t positions) const { return (positions - 1) * step + last - first + 1; }
};

DepthwiseDim depthwise_dim(const ConvolutionSpec& spec, size_t dim);

// Rows of an image with a channel a lane, [rows, width, lanes], borders of zeros included.
struct DepthwiseBand {
  DepthwiseDim rows, columns;
  int64_t height = 0, width = 0;  // of the image
  int64_t row = 0;                // positions of a row with its borders

  DepthwiseBand(const ConvolutionSpec& spec, int64_t image_height, int64_t image_width);
  // Fills what the rows of the result from `first` on, `count` of them, read of `channels` planes
  // at `image`. The borders of columns stay as they are.
  void fill(const DirectKernel& kernel, int64_t bytes, int64_t first, int64_t count,
            const char* image, int64_t channels, char* band, int64_t sum_bytes) const;
  // Where a tap stands, in positions of the band, from that of the first row and column.
  int64_t offset(const PhaseDim::Tap& i, const PhaseDim::Tap& j) const {
    return (rows.at(i) - rows.first) * row + columns.at(j) - columns.first;
  }
  // As many rows of the result as fit in the second-level cache with theirs, at least one.
  int64_t rows_that_fit(int64_t result_row, int64_t lane_bytes) const;
};

}  // namespace cleave::runtime
