// lanes: rows that are adjacent in the innermost dim, in blocks. Each lane makes the passes of a
// row.
#include <algorithm>

#include "loop/sum_blocks.h"
#include "schedule/group_fold.h"
#include "schedule/group_results.h"
#include "schedule/group_row.h"
#include "schedule/group_writers.h"
#include "schedule/lane_block.h"

namespace cleave {

using namespace cleave::loop;

namespace {

// The row of one lane.
class LaneRow {
 public:
  // row: the index of the frame's row dims.
  LaneRow(GroupContext& c, const Exprs& row) : c_(c), row_(row) {
    for (size_t d = 0; d < row.size(); ++d)
      if (!c.plan.frame.parts[d].is_row) {
        row_[d] = Expr(0);
        inner_.push_back(d);
      }
  }

  void write() {
    for (size_t pass = 0; pass <= c_.plan.last_pass; ++pass) {
      store_row_results(c_, c_.element(row_), pass);
      for (const FoldCall& f : c_.plan.folds)
        if (f.pass == pass) fold(f);
      if (has_results(c_, pass)) store_results(pass);
    }
  }

 private:
  int64_t extent(size_t k) const { return c_.plan.frame.parts[inner_[k]].extent; }

  void store_results(size_t pass) {
    Exprs extents;
    for (size_t k = 0; k < inner_.size(); ++k) extents.emplace_back(extent(k));
    nest(c_.builder, extents, false, [&](const Exprs& vars) {
      const OpenScope scope(c_, vars);
      Exprs parts = row_;
      for (size_t k = 0; k < inner_.size(); ++k) parts[inner_[k]] = c_.declared(vars[k], extent(k));
      store_all(c_, results_of(c_, c_.element(parts), pass));
    });
  }

  // The fold over part q of the row, which has `count` elements of the outermost inner dim.
  Expr part_sum(const FoldCall& f, const Expr& q, const Expr& count) {
    Exprs extents = {count};
    for (size_t k = 1; k < inner_.size(); ++k) extents.emplace_back(extent(k));
    return c_.builder.folds(extents, [&](const Exprs& r) -> std::vector<KernelBuilder::Folded> {
      const OpenScope scope(c_, r);
      Exprs parts = row_;
      for (size_t k = 0; k < inner_.size(); ++k) {
        c_.declared(r[k], k == 0 ? std::min(f.form.step, extent(0)) : extent(k));
        parts[inner_[k]] = r[k];
      }
      c_.math().declare_sum(q, f.form.step, r[0], extent(0));
      // Not named, since a let would be a variable of each lane.
      parts[inner_[0]] = q * Expr(f.form.step) + r[0];
      return {{rule_of(c_, f).op, mapped(c_, f, c_.element(parts))}};
    })[0];
  }

  // Adds the parts in the order in which add_parts adds them if the columns are a kernel of their
  // own.
  Expr sum_of_parts(const FoldCall& f) {
    const ReduceOp op = rule_of(c_, f).op;
    const DType t = parts_type(c_, f);
    const Expr total = c_.builder.define(identity_of(op, t), "total");
    c_.values.scopes().own(total);
    const auto [whole, block] = column_terms;
    const bool in_blocks = f.form.parts > whole && rounds(op, t);
    Expr blocks;
    if (in_blocks) blocks = c_.builder.define(identity_of(op, t), "blocks");
    c_.builder.loop(Expr(f.form.parts), [&](const Expr& q) {
      const OpenScope scope(c_, {q});
      c_.declared(q, f.form.parts);
      const Expr sum = part_sum(f, q, rows_of_part(q * Expr(f.form.step), f.form));
      c_.builder.assign(total, combined(op, total, cast(sum, t)));
      if (in_blocks)
        c_.builder.if_(binary(Op::eq, binary(Op::truncmod, q, Expr(block)), Expr(block - 1)), [&] {
          c_.builder.assign(blocks, combined(op, blocks, total));
          c_.builder.assign(total, identity_of(op, t));
        });
    });
    const Expr sum = in_blocks ? combined(op, blocks, total) : total;
    return c_.builder.let(cast(sum, accumulator(c_, f)));
  }

  void fold(const FoldCall& f) {
    const Expr sum = f.form.parts <= 1 ? part_sum(f, Expr(0), Expr(extent(0))) : sum_of_parts(f);
    c_.values.scopes().own(sum);
    set_folded(c_, f, sum, c_.element(row_));
  }

  GroupContext& c_;
  Exprs row_;                  // 0 for the inner dims
  std::vector<size_t> inner_;  // the inner dims
};

}  // namespace

void write_lanes(GroupContext& c) {
  const std::vector<Frame::Part>& frame = c.plan.frame.parts;
  std::vector<int64_t> outer;
  for (size_t d = 0; d + 1 < frame.size(); ++d)
    if (frame[d].is_row) outer.push_back(frame[d].extent);
  const int64_t last = frame.back().extent;
  for_blocks(c, outer, last, [&](const Exprs& i, const Expr& block) {
    for_lanes(c, block, last, [&](const Expr& element) {
      Exprs parts(frame.size());
      size_t row = 0;
      for (size_t d = 0; d + 1 < parts.size(); ++d)
        if (frame[d].is_row) parts[d] = i[row++];
      parts.back() = element;
      LaneRow(c, parts).write();
    });
  });
}

}  // namespace cleave
