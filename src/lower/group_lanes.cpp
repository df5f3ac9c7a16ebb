#include <algorithm>

#include "loop/sum_blocks.h"
#include "lower/group_writer.h"

namespace cleave {

using namespace cleave::loop;

void GroupWriter::lanes() {
  std::vector<int64_t> outer;
  for (size_t d = 0; d + 1 < frame_.parts.size(); ++d)
    if (frame_.parts[d].is_row) outer.push_back(frame_.parts[d].extent);
  const int64_t last = frame_.parts.back().extent;
  outer.push_back((last + column_lanes - 1) / column_lanes);
  builder_.parallel(outer, [&](const Exprs& i) {
    values_.open_scope(i);
    for (size_t d = 0; d < i.size(); ++d) declared(i[d], outer[d]);
    const Expr first = block_start(i.back(), last);
    builder_.lanes(block_size(first, last), [&](const Expr& l) {
      values_.open_scope({l});
      declared(l, std::min<int64_t>(column_lanes, last));
      Exprs parts(frame_.parts.size());
      size_t row = 0;
      for (size_t d = 0; d + 1 < parts.size(); ++d)
        if (frame_.parts[d].is_row) parts[d] = i[row++];
      parts.back() = first + l;
      lane_row(parts);
      values_.close_scope();
    });
    values_.close_scope();
  });
}

void GroupWriter::lane_row(const Exprs& rows) {
  std::vector<size_t> inner;  // parts within a row
  for (size_t d = 0; d < rows.size(); ++d)
    if (!frame_.parts[d].is_row) inner.push_back(d);
  Exprs only_rows = rows;
  for (const size_t d : inner) only_rows[d] = Expr(0);
  for (size_t pass = 0; pass <= last_pass_; ++pass) {
    set_frame(only_rows);
    row_results(pass);
    for (const FoldCall& f : folds_) {
      if (f.pass != pass) continue;
      finish_lane_fold(f, rows, only_rows, inner);
    }
    bool stores = false;
    for (const GroupResult& r : results_)
      stores |= is_full(r.value) && !fold_of(r.value) && pass_of(r.value) == pass;
    if (!stores) continue;
    Exprs extents;
    for (const size_t d : inner) extents.emplace_back(frame_.parts[d].extent);
    nest(extents, false, {}, [&](const Exprs& vars) {
      values_.open_scope(vars);
      Exprs all = rows;
      for (size_t k = 0; k < inner.size(); ++k)
        all[inner[k]] = declared(vars[k], frame_.parts[inner[k]].extent);
      set_frame(all);
      store_all(results_of_pass(pass));
      values_.close_scope();
    });
  }
}

void GroupWriter::finish_lane_fold(const FoldCall& f, const Exprs& rows, const Exprs& only_rows,
                                   const std::vector<size_t>& inner) {
  const int64_t extent = frame_.parts[inner[0]].extent;
  // Part q of the rows, or all of them where q is 0 and there is one part.
  const auto part_sum = [&](const Expr& q, const Expr& count) {
    Exprs extents = {count};
    for (size_t k = 1; k < inner.size(); ++k) extents.emplace_back(frame_.parts[inner[k]].extent);
    return builder_.folds(extents, [&](const Exprs& r) {
      values_.open_scope(r);
      Exprs all = rows;
      for (size_t k = 0; k < inner.size(); ++k) {
        declared(r[k], k == 0 ? std::min(f.form.step, extent) : frame_.parts[inner[k]].extent);
        all[inner[k]] = r[k];
      }
      values_.math().declare_sum(q, f.form.step, r[0], extent);
      all[inner[0]] = q * Expr(f.form.step) + r[0];  // no variable: it would be one of each lane
      set_frame(all);
      std::vector<KernelBuilder::Folded> out = {{rule(f).op, mapped(f)}};
      values_.close_scope();
      return out;
    })[0];
  };
  Expr total;
  if (f.form.parts <= 1) {
    total = part_sum(Expr(0), Expr(extent));
  } else {
    const DType t = parts_type(f);
    total = builder_.define(identity_of(rule(f).op, t), "total");
    values_.own(total);
    const auto [whole, block] = column_terms;
    const bool in_blocks = f.form.parts > whole && rounds(rule(f).op, t);  // as add_parts folds
    Expr blocks;
    if (in_blocks) blocks = builder_.define(identity_of(rule(f).op, t), "blocks");
    builder_.loop(Expr(f.form.parts), [&](const Expr& q) {
      values_.open_scope({q});
      declared(q, f.form.parts);
      const Expr sum = part_sum(q, rows_of_part(q * Expr(f.form.step), f.form));
      builder_.assign(total, combined(rule(f).op, total, cast(sum, t)));
      if (in_blocks)
        builder_.if_(binary(Op::eq, binary(Op::truncmod, q, Expr(block)), Expr(block - 1)), [&] {
          builder_.assign(blocks, combined(rule(f).op, blocks, total));
          builder_.assign(total, identity_of(rule(f).op, t));
        });
      values_.close_scope();
    });
    const Expr sum = in_blocks ? combined(rule(f).op, blocks, total) : total;
    total = builder_.let(cast(sum, accumulator(f)));
  }
  values_.own(total);
  set_frame(only_rows);
  finish_fold(f, total);
}

}  // namespace cleave
