#include <algorithm>

#include "base/alignment.h"
#include "lower/group_writer.h"
#include "lower/one_term.h"

namespace cleave {

using namespace cleave::loop;

void GroupWriter::row_passes(bool with_columns) {
  const int64_t rows = frame_.rows();
  if (with_columns) make_partials();
  choose_kept();
  if (!with_columns) {
    builder_.parallel({rows}, [&](const Exprs& p) {
      values_.open_scope(p);
      row(declared(p[0], rows));
      values_.close_scope();
    });
    return;
  }
  const FoldForm* cut = nullptr;
  for (const FoldCall& f : folds_)
    if (!f.in_rows) cut = &f.form;
  builder_.parallel({cut->parts}, [&](const Exprs& part) {
    values_.open_scope(part);
    part_ = declared(part[0], cut->parts);
    builder_.each(Expr(frame_.row_elements()), [&](const Expr& c) {
      for (const FoldCall& f : folds_)
        if (!f.in_rows) store_partial(f, c, identity_of(rule(f).op, partial(f)->dtype));
    });
    const Expr first = builder_.let(part_ * Expr(cut->step), "first");
    values_.own(first);
    values_.math().declare(first, std::max<int64_t>(rows - cut->step, 0) + 1);
    builder_.loop(rows_of_part(first, *cut), [&](const Expr& r) {
      values_.open_scope({r});
      declared(r, std::min(cut->step, rows));
      row(values_.math().simplify(first + r));
      values_.close_scope();
    });
    if (has_local_sums_) finish_columns();
    values_.close_scope();
  });
  if (!has_local_sums_) add_parts();
}

void GroupWriter::make_partials() {
  int64_t bytes = 0, parts = 1;
  for (const FoldCall& f : folds_)
    if (!f.in_rows) {
      bytes += rounded(f.form.results * size_of(accumulator(f)));
      parts = f.form.parts;
    }
  has_local_sums_ = parts == 1 && bytes <= most_local_bytes / 2;
  if (has_local_sums_) room_ -= bytes;
  for (const FoldCall& f : folds_) {
    if (f.in_rows) continue;
    if (!has_local_sums_) {
      make_partial(f);
      continue;
    }
    Bound at;
    at.buffer = static_cast<int64_t>(kernel_.buffers.size());
    at.dtype = accumulator(f);
    kernel_.buffers.push_back({graph_.name(f.result) + ".sum", at.dtype,
                               std::max<int64_t>(f.form.results, 1), Access::local});
    partial(f) = at;
  }
}

void GroupWriter::finish_columns() {
  builder_.each(Expr(frame_.row_elements()), [&](const Expr& c) {
    for (const FoldCall& f : folds_)
      if (!f.in_rows)
        store(result_of(f).at,
              values_.math().delinearise(declared(c, frame_.row_elements()),
                                         static_shape(graph_.type(f.result))),
              finished(f, load(partial(f)->buffer, partial(f)->dtype, c)));
  });
}

void GroupWriter::row(const Expr& p) {
  Exprs parts(frame_.parts.size());
  split_rows(p, parts);
  Exprs inner_extents;
  for (const Frame::Part& part : frame_.parts)
    if (!part.is_row) inner_extents.emplace_back(part.extent);
  if (inner_extents.empty()) inner_extents.emplace_back(1);
  const auto at = [&](const Exprs& vars) {
    Exprs all = parts;
    size_t next = 0;
    for (size_t d = 0; d < all.size(); ++d)
      if (!frame_.parts[d].is_row) all[d] = declared(vars[next++], frame_.parts[d].extent);
    set_frame(all);
  };
  // Within a row nothing has been said about the inner variables yet.
  Exprs only_rows = parts;
  for (size_t d = 0; d < parts.size(); ++d)
    if (!frame_.parts[d].is_row) only_rows[d] = Expr(0);
  set_frame(only_rows);
  for (size_t pass = 0; pass <= last_pass_; ++pass) {
    pass_ = pass;
    set_frame(only_rows);
    row_results(pass);
    std::vector<const FoldCall*> folds;
    for (const FoldCall& f : folds_)
      if (f.in_rows && f.pass == pass) folds.push_back(&f);
    const auto body = [&](const Exprs& vars) {
      values_.open_scope(vars);
      at(vars);
      read_kept(pass);
      keep_values(pass);
      std::vector<KernelBuilder::Folded> out;
      for (const FoldCall* f : folds) out.push_back({rule(*f).op, mapped(*f)});
      std::vector<std::pair<const FoldCall*, Expr>> sums;
      for (const FoldCall& f : folds_)
        if (!f.in_rows && f.pass == pass) sums.emplace_back(&f, builder_.let(mapped(f), "v"));
      std::vector<Pending> stored = results_of_pass(pass);
      if (!stored.empty())  // they may lie over what the folds read
        for (KernelBuilder::Folded& f : out) f.value = builder_.let(f.value, "v");
      store_all(std::move(stored));
      for (const auto& [f, x] : sums) add_to_partial(*f, inner_, x);
      values_.close_scope();
      return out;
    };
    if (folds.empty()) {
      if (!has_work(pass)) continue;
      nest(inner_extents, true, {}, body);
    } else {
      const Exprs sums = builder_.folds(inner_extents, body);
      write_one_term(*sheet_.open.back());
      set_frame(only_rows);
      for (size_t k = 0; k < folds.size(); ++k) {
        values_.own(sums[k]);
        finish_fold(*folds[k], sums[k]);
      }
    }
  }
}

bool GroupWriter::has_work(size_t pass) const {
  for (const GroupResult& r : results_)
    if (is_full(r.value) && !fold_of(r.value) && pass_of(r.value) == pass) return true;
  for (const FoldCall& f : folds_)
    if (f.pass == pass) return true;
  return std::any_of(kept_.begin(), kept_.end(),
                     [&](const Kept& k) { return k.local >= 0 && k.pass == pass; });
}

}  // namespace cleave
