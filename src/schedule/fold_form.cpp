#include "schedule/fold_form.h"

#include <algorithm>
#include <bit>

#include "loop/sum_blocks.h"

namespace cleave {

namespace {

// Rows of a part of which each of up to so many threads has as many blocks.
int64_t even_step(int64_t rows, int64_t threads) {
  constexpr int64_t block = loop::column_terms.block;
  const auto blocks = static_cast<uint64_t>((rows + block - 1) / block);
  const auto all = static_cast<uint64_t>(threads);
  return block * static_cast<int64_t>(blocks <= all ? std::bit_ceil(blocks)
                                                    : (blocks + all - 1) / all * all);
}

}  // namespace

FoldForm FoldForm::of(const std::vector<int64_t>& shape, const std::vector<int64_t>& dims,
                      const FoldParts& cut) {
  FoldForm out;
  for (size_t d = 0; d < shape.size(); ++d) {
    const bool folded = std::find(dims.begin(), dims.end(), static_cast<int64_t>(d)) != dims.end();
    (folded ? out.count : out.results) *= shape[d];
    if (shape[d] == 1) continue;
    if (!out.runs.empty() && out.runs.back().folded == folded)
      out.runs.back().extent *= shape[d];
    else
      out.runs.push_back({shape[d], folded});
  }
  const auto first = std::find_if(out.runs.begin(), out.runs.end(), [](Run r) { return r.folded; });
  if (first == out.runs.end() || out.results == 0) return out;
  const Run& last = out.runs.back();
  if (!last.folded && last.extent >= loop::reduce_lanes) {
    out.kind = Kind::columns;
    int64_t most = std::clamp<int64_t>(cut.partial_sums / out.results, 1, cut.max_parts);
    if (cut.shares_parts)
      for (auto run = out.runs.begin(); run != first; ++run)
        most = std::max<int64_t>(most / run->extent, 1);
    out.parts = std::clamp<int64_t>(first->extent / cut.part_rows, 1, most);
  } else if (out.results < cut.few_results && out.count >= cut.long_fold &&
             first->extent >= cut.max_parts) {
    out.kind = Kind::chunks;
    out.parts = std::min(cut.max_parts, out.count / cut.chunk_elements);
  }
  out.step = (first->extent + out.parts - 1) / out.parts;
  if (out.kind == Kind::columns && cut.row_threads > 1 && out.parts > 1) {
    out.step = even_step(out.step, cut.row_threads);
    out.parts = (first->extent + out.step - 1) / out.step;
  }
  return out;
}

size_t FoldForm::cut_run() const {
  return static_cast<size_t>(
      std::find_if(runs.begin(), runs.end(), [](Run r) { return r.folded; }) - runs.begin());
}

}  // namespace cleave
