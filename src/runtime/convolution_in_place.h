// to_small and to_large of convolution.h whose windows aren't packed: channels of the result are
// the columns of a product, so a row of the other operand is a position's window, whose numbers are
// read one by one from a copy of the image with a border (convolution_planes.h), where a tap is a
// fixed distance.
//
//   out^T[(image, position), results] = windows^T[.., (channel, tap)] @ weight^T
//
// A piece has some images, or some rows of one, and some of the results. Images have two dims.
#pragma once
#include <array>
#include <vector>

#include "runtime/convolution_planes.h"
#include "runtime/gemm_block.h"
#include "runtime/gemm_cut.h"

namespace cleave::runtime {

// Positions of the result with the same taps along the last dim, in the rows of an outer phase.
struct InPlacePhase {
  int64_t width = 0;
  std::vector<int64_t> number;   // of each tap, in the kernel
  int64_t k = 0, panels_at = 0;  // its weight's panels, in all of them, in numbers
  const PhaseDim* dims[3] = {};
};

struct InPlaceOuter {
  int64_t base = 0, count = 0;  // of rows
  std::vector<InPlacePhase> inner;
  std::vector<int64_t> widths;
};

// How many images, rows of an image's result and columns a piece has.
struct InPlaceCut {
  int64_t images = 1, rows = 1, columns = 1;
  int64_t image_blocks = 1, row_blocks = 1, column_blocks = 1;
  bool shares_panels = false;  // the weight is packed before the pieces; else as each is run
  double cycles = 0;           // of all pieces, modelled
  long pieces() const { return static_cast<long>(image_blocks * row_blocks * column_blocks); }
};

// What a convolution has to do, from which its cut is chosen. Rows are those of its largest phase.
struct InPlaceWork {
  int64_t images = 1, rows = 1, results = 1;
  int64_t width = 1;              // positions of a row
  int64_t phases = 1, inner = 1;  // inner: that are written in turns, along the last dim
  int64_t k = 1;                  // of all phases
  int64_t row_numbers = 0;        // of the planes of all channels
  int64_t channel_rows = 0;       // that a row of these planes is filled from
  int64_t more_rows = 0;          // that a row's taps reach beyond it
  bool by_rows = false;           // results are written by rows, after they are transposed
  bool weight_packed = false;
  int64_t piece_bytes(const InPlaceCut& cut) const;
  double piece_cycles(const InPlaceCut& cut, int threads) const;
};

// One for each of cut_threads.
std::array<InPlaceCut, cut_threads.size()> in_place_cuts(const InPlaceWork& work);

// The tiles of rows [0, count) of `width` positions each, in order; row r's first position is at
// first(r). Writes them if `to` isn't null; returns their number.
template <class F>
int64_t window_tiles_of(int64_t count, int64_t width, const GemmSizes& sizes, const F& first,
                        WindowTile* to) {
  const int64_t group = sizes.window_group();
  int64_t tiles = 0, groups = 0;
  WindowTile tile;
  const auto end = [&] {
    if (tile.rows == 0) return;
    if (to != nullptr) to[tiles] = tile;
    ++tiles;
    tile = {}, groups = 0;
  };
  for (int64_t r = 0; r < count; ++r) {
    const int64_t at = first(r);
    if (width % group == 0) {  // groups of neighbours, whatever rows they are in
      for (int64_t x = 0; x < width; x += group) {
        if (tile.rows + group > sizes.mr || groups == GemmSizes::window_groups) end();
        tile.at[groups++] = at + x;
        tile.rows += group;
      }
      continue;
    }
    const int64_t parts = (width + sizes.mr - 1) / sizes.mr, most = (width + parts - 1) / parts;
    for (int64_t x = 0; x < width; x += most) {
      tile.rows = most < width - x ? most : width - x;
      for (int64_t q = 0; q * group < tile.rows; ++q) tile.at[q] = at + x + q * group;
      end();
    }
  }
  end();
  return tiles;
}

}  // namespace cleave::runtime
