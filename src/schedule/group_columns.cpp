// columns: folds over rows with adjacent results. Blocks of columns are folded over parts of the
// rows, then a second loop adds the parts (part_sums.h).
#include <algorithm>
#include <utility>

#include "schedule/group_fold.h"
#include "schedule/group_results.h"
#include "schedule/group_writers.h"
#include "schedule/lane_block.h"
#include "schedule/part_sums.h"

namespace cleave {

using namespace cleave::loop;

namespace {

// The folds of one column over the rows of one part.
struct Column {
  Exprs sums;
  Expr number;  // column number
};

// kept: the index of the frame's dims that aren't rows, except the last one, which is `column`.
Column fold_column(GroupContext& c, const FoldForm& cut, const Expr& first_row, const Exprs& kept,
                   const Expr& column) {
  const std::vector<Frame::Part>& frame = c.plan.frame.parts;
  const int64_t extent = cut.runs[cut.cut_run()].extent;
  Exprs extents = {rows_of_part(first_row, cut)};
  std::vector<int64_t> row_extents = {std::min(cut.step, extent)};
  bool is_first = true;
  for (const Frame::Part& p : frame)
    if (p.is_row && !std::exchange(is_first, false)) {
      extents.emplace_back(p.extent);
      row_extents.push_back(p.extent);
    }
  Column out;
  out.sums = c.builder.folds(extents, [&](const Exprs& r) {
    const OpenScope scope(c, r);
    Exprs parts(frame.size());
    size_t row = 0, next = 0;
    for (size_t d = 0; d < parts.size(); ++d) {
      if (d + 1 == parts.size()) {
        parts[d] = column;
      } else if (frame[d].is_row) {
        parts[d] = c.declared(r[row], row_extents[row]);
        if (row++ == 0) parts[d] = first_row + parts[d];
      } else {
        parts[d] = kept[next++];
      }
    }
    const FrameElement at = c.element(parts);
    out.number = at.inner;
    std::vector<KernelBuilder::Folded> folded;
    for (const FoldCall& f : c.plan.folds) folded.push_back({rule_of(c, f).op, mapped(c, f, at)});
    store_all(c, results_of(c, at, std::nullopt));
    return folded;
  });
  return out;
}

// Stores the sums of a part, or the results if there is only one part.
void store_column(GroupContext& c, const std::vector<PartSums>& sums, const Expr& part,
                  const Column& column) {
  for (size_t k = 0; k < c.plan.folds.size(); ++k) {
    const FoldCall& f = c.plan.folds[k];
    if (!sums.empty())
      sums[k].store(c, part, column.number, column.sums[k]);
    else
      c.store(stored_at(c, f), c.index_of(column.number, f.result), finished(c, f, column.sums[k]));
  }
}

}  // namespace

void write_columns(GroupContext& c, const MakePartial& make_partial) {
  const FoldForm& cut = c.plan.folds[0].form;
  std::vector<PartSums> sums;
  if (cut.parts > 1)
    for (const FoldCall& f : c.plan.folds)
      sums.push_back(PartSums::of_all(c, f, ".partial", accumulator(c, f), make_partial));
  // The last dim is the columns; the other kept dims are outer loops around a block of columns.
  const std::vector<Frame::Part>& frame = c.plan.frame.parts;
  std::vector<int64_t> outer = {cut.parts};
  for (size_t d = 0; d + 1 < frame.size(); ++d)
    if (!frame[d].is_row) outer.push_back(frame[d].extent);
  const int64_t last = frame.back().extent;
  for_blocks(c, outer, last, [&](const Exprs& i, const Expr& block) {
    const int64_t extent = cut.runs[cut.cut_run()].extent;
    const Expr first_row =
        c.let(i[0] * Expr(cut.step), "row", std::max<int64_t>(extent - cut.step, 0) + 1);
    const Exprs kept(i.begin() + 1, i.end());
    for_lanes(c, block, last, [&](const Expr& column) {
      store_column(c, sums, i[0], fold_column(c, cut, first_row, kept, column));
    });
  });
  std::vector<PartsOfFold> all;
  for (size_t k = 0; k < sums.size(); ++k) all.push_back({&c.plan.folds[k], &sums[k]});
  add_parts(c, all);
}

}  // namespace cleave
