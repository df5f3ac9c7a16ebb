// How a product is cut into pieces that run in parallel: depends on its shape alone, never on the
// number of threads.
//
//   batch matrices in groups of `batch`;  C of each in a grid:   +---+---+-+
//                                                                |   |   | |  m rows a piece,
//                                                                +---+---+-+  n columns;
//                                                                |   |   | |  the last of each
//                                                                +---+---+-+  is the rest
//
// The grid is the one with the lowest modelled cost over 1, 2, 4, 8 and 16 threads: multiply-adds,
// packing (A for each column of the grid, B for each row), the imbalance of the last round, waking
// threads. Lanes are the number of pieces that may run at once (lane_count.h): a product that can't
// keep two threads busy has one lane, and as few pieces as possible.
#pragma once
#include <cstdint>

#include "runtime/lane_count.h"

namespace cleave::runtime {

struct GemmPiece {
  int64_t first_batch = 0, batch = 0;
  int64_t first_row = 0, m = 0;
  int64_t first_column = 0, n = 0;
};

struct GemmCut {
  int64_t all_batch = 0, all_m = 0, all_n = 0;
  int64_t batch = 1, m = 1, n = 1;            // of a whole piece
  int64_t groups = 0, rows = 0, columns = 0;  // of the grid
  double cycles = 0;                          // modelled, as one piece on one thread

  long pieces() const { return static_cast<long>(groups * rows * columns); }
  long lanes() const { return lanes_for(cycles, pieces(), product_wakings); }
  GemmPiece piece(long index) const;
};

// For a kernel that sums tiles of mr rows and nr columns. A piece's columns are a multiple of nr
// and at most max_columns. packing_a: cycles for a number of A, once for each column of the grid.
GemmCut cut_gemm(int64_t batch, int64_t m, int64_t n, int64_t k, int64_t mr, int64_t nr,
                 int64_t max_columns = 2048, double packing_a = 0.5);

}  // namespace cleave::runtime
