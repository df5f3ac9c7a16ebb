// In which order a reduction adds up: fixed by the operand's shape and the folded dims alone, so
// that the same bits come out of every kernel that it is fused into.
//
//   dims of 1 go, neighbours that are both kept or both folded are one run    K: kept, F: folded
//
//   rows      ... F        each result folds its elements in 16 lanes along the last run
//   columns   ... F K      results side by side: each folds in plain order, part by part
//   chunks    few results of long folds: the outermost folded run in parts, each in 16 lanes
#pragma once
#include <cstdint>
#include <vector>

namespace cleave {

struct Run {
  int64_t extent = 1;
  bool folded = false;
  friend bool operator==(const Run&, const Run&) = default;
};

struct FoldForm {
  enum class Kind : uint8_t { rows, columns, chunks };
  Kind kind = Kind::rows;
  std::vector<Run> runs;
  int64_t count = 1, results = 1;  // elements of a fold, results
  // columns and chunks: the outermost folded run is cut into `parts` of `step` (the last is
  // shorter, or empty); the parts' results are folded in their order. Long sums inside of a part,
  // and of many parts, go in blocks (loop/sum_blocks.h); the parts of columns are added up in f64.
  int64_t parts = 1, step = 1;
  size_t cut_run() const;  // which run is cut

  static FoldForm of(const std::vector<int64_t>& shape, const std::vector<int64_t>& dims);
};

}  // namespace cleave
