// How a product is cut into pieces that run in parallel.
//
//   batch matrices in groups of `batch`;  C of each in a grid:   +---+---+-+
//                                                                |   |   | |  m rows a piece,
//                                                                +---+---+-+  n columns;
//                                                                |   |   | |  the last of each
//                                                                +---+---+-+  is the rest
//
// Each element of C is summed in an order that the grid doesn't change. So there is a grid for each
// number of threads: the one with the lowest modelled cost of multiply-adds, packing (A for each
// column of the grid, B for each row), the imbalance of the last round, waking threads. Lanes are
// the number of pieces that may run at once (lane_count.h): a product that can't keep two threads
// busy has one lane, and as few pieces as possible.
#pragma once
#include <array>
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

// One cut for each of some numbers of threads. A run takes that of the first number that its
// executor's threads don't exceed, or the last.
constexpr std::array<int, 4> cut_threads = {2, 4, 8, 16};
constexpr size_t cut_index(int threads) {
  size_t i = 0;
  while (i + 1 < cut_threads.size() && cut_threads[i] < threads) ++i;
  return i;
}
using GemmCuts = std::array<GemmCut, cut_threads.size()>;
// Lanes of a call that runs its cut number `i` of a product.
inline long cut_lanes(size_t i, double cycles, long pieces, double wakings = 3) {
  return std::min<long>(lanes_for(cycles, pieces, wakings), cut_threads[i]);
}

// For a kernel that sums tiles of mr rows and nr columns. A piece's columns are a multiple of nr
// and at most max_columns. packing_a: cycles for a number of A, once for each column of the grid.
GemmCuts cut_gemm(int64_t batch, int64_t m, int64_t n, int64_t k, int64_t mr, int64_t nr,
                  int64_t max_columns = 2048, double packing_a = 0.5);

}  // namespace cleave::runtime
