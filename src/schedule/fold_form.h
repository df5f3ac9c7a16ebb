// The order of a reduction's additions. It depends only on the operand's shape and the reduced
// dims, so that the bits are the same in every kernel that the reduction is fused into.
//
//   Dims of 1 are dropped; neighbours that are all kept or all folded form a run.
//   K: kept, F: folded
//
//   rows      ... F        each result is folded in 16 lanes along the last run
//   columns   ... F K      adjacent results side by side, each in plain order, in parts
//   chunks    few results of long folds: the outermost folded run in parts, each in 16 lanes
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cleave {

struct Run {
  int64_t extent = 1;
  bool folded = false;
  friend bool operator==(const Run&, const Run&) = default;
};

// How long folds are cut, so that enough of the machine has a part: a rule of the target, since the
// order of additions follows from it.
struct FoldParts {
  int64_t few_results = 32;          // with fewer results, a long fold is split into chunks,
  int64_t long_fold = 1 << 15;       // if it is at least this long,
  int64_t chunk_elements = 1 << 13;  // of about this length
  int64_t max_parts = 64;
  int64_t part_rows = 32;  // at least, in a part of a columns fold,
  int64_t row_threads =
      1;  // share the rows of a part, in blocks of loop::column_terms: a power of 2
  // whose parts have at most about so many sums together, of wide rows.
  int64_t partial_sums = int64_t{1} << 40;
  // Of columns that are folded for each of several outer dims, as of a batch's images, there are at
  // most max_parts for all of these together.
  bool shares_parts = false;
};

struct FoldForm {
  enum class Kind : uint8_t { rows, columns, chunks };
  Kind kind = Kind::rows;
  std::vector<Run> runs;
  int64_t count = 1, results = 1;  // elements of a fold, number of results
  // columns and chunks: the outermost folded run is split into `parts` of `step` (the last one is
  // shorter, or empty), whose results are folded in order. Long sums within a part and over many
  // parts are taken in blocks (loop/sum_blocks.h); the parts of columns are added in f64.
  int64_t parts = 1, step = 1;
  size_t cut_run() const;  // the run that is split

  static FoldForm of(const std::vector<int64_t>& shape, const std::vector<int64_t>& dims,
                     const FoldParts& cut = {});
};

}  // namespace cleave
