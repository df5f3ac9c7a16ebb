// chunks: few results of long folds. Chunks of each row are folded in parallel, then a second loop
// folds the chunks' sums, which are stored row by row.
#include <algorithm>

#include "schedule/group_fold.h"
#include "schedule/group_results.h"
#include "schedule/group_writers.h"
#include "schedule/part_sums.h"

namespace cleave {

using namespace cleave::loop;

namespace {

// All folds of a chunk of a row. `row`: the index of the frame's row dims.
Exprs fold_chunk(GroupContext& c, const FoldForm& cut, const Exprs& row, const Expr& first) {
  const std::vector<Frame::Part>& frame = c.plan.frame.parts;
  const int64_t extent = cut.runs[cut.cut_run()].extent;
  Exprs extents = {rows_of_part(first, cut)};
  std::vector<size_t> inner;
  for (size_t d = 0; d < row.size(); ++d)
    if (!frame[d].is_row) {
      if (!inner.empty()) extents.emplace_back(frame[d].extent);
      inner.push_back(d);
    }
  return c.builder.folds(extents, [&](const Exprs& r) {
    const OpenScope scope(c, r);
    Exprs parts = row;
    for (size_t k = 0; k < inner.size(); ++k) {
      c.declared(r[k], k == 0 ? std::min(cut.step, extent) : frame[inner[k]].extent);
      parts[inner[k]] = k == 0 ? first + r[0] : r[k];
    }
    const FrameElement at = c.element(parts);
    std::vector<KernelBuilder::Folded> out;
    for (const FoldCall& f : c.plan.folds) out.push_back({rule_of(c, f).op, mapped(c, f, at)});
    store_all(c, results_of(c, at, std::nullopt));
    return out;
  });
}

// The second loop: folds the chunks of each row in order.
void add_chunks(GroupContext& c, const FoldCall& f, const PartSums& sums) {
  const int64_t rows = c.plan.frame.rows();
  c.builder.parallel({rows}, [&](const Exprs& p) {
    const Expr sum = c.builder.reduce(rule_of(c, f).op, {f.form.parts}, [&](const Exprs& q) {
      return load(sums.buffer(), sums.dtype(), p[0] * Expr(f.form.parts) + q[0]);
    });
    c.store(stored_at(c, f), c.index_of(c.declared(p[0], rows), f.result), finished(c, f, sum));
  });
}

}  // namespace

void write_chunks(GroupContext& c, const MakePartial& make_partial) {
  std::vector<PartSums> sums;
  for (const FoldCall& f : c.plan.folds)
    sums.push_back(PartSums::of_all(c, f, ".partial", accumulator(c, f), make_partial));
  const FoldForm& cut = c.plan.folds[0].form;
  const int64_t rows = c.plan.frame.rows();
  c.builder.parallel({rows, cut.parts}, [&](const Exprs& i) {
    const OpenScope scope(c, i);
    c.declared(i[0], rows), c.declared(i[1], cut.parts);
    const Exprs row = c.row_parts(i[0]);
    const int64_t extent = cut.runs[cut.cut_run()].extent;
    const Expr first =
        c.let(i[1] * Expr(cut.step), "first", std::max<int64_t>(extent - cut.step, 0) + 1);
    const Exprs folded = fold_chunk(c, cut, row, first);
    for (size_t k = 0; k < sums.size(); ++k)
      c.sheet.open.back()->push_back(
          {Store{sums[k].buffer(), i[0] * Expr(cut.parts) + i[1], folded[k]}});
  });
  for (size_t k = 0; k < sums.size(); ++k) add_chunks(c, c.plan.folds[k], sums[k]);
}

}  // namespace cleave
