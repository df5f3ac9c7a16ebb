#include <algorithm>

#include "base/alignment.h"
#include "loop/sum_blocks.h"
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
        if (!f.in_rows) {
          store_partial(f, c, identity_of(rule(f).op, partial(f)->dtype));
          if (total(f)) store_sum(*total(f), f, c, identity_of(rule(f).op, DType::f64));
        }
    });
    const Expr first = builder_.let(part_ * Expr(cut->step), "first");
    values_.own(first);
    values_.math().declare(first, std::max<int64_t>(rows - cut->step, 0) + 1);
    rows_of_columns(first, *cut);
    if (has_local_sums_) finish_columns();
    values_.close_scope();
  });
  if (!has_local_sums_) add_parts();
}

void GroupWriter::rows_of_columns(const Expr& first, const FoldForm& cut) {
  const int64_t rows = frame_.rows(), block = column_terms.block;
  const auto some = [&](const Expr& begin, const Expr& count, int64_t most) {
    builder_.loop(count, [&](const Expr& r) {
      values_.open_scope({r});
      declared(r, most);
      row(values_.math().simplify(begin + r));
      values_.close_scope();
    });
  };
  const Expr count = rows_of_part(first, cut);
  if (std::ranges::none_of(totals_, [](const auto& t) { return t.has_value(); }))
    return some(first, count, std::min(cut.step, rows));
  const int64_t blocks = (cut.step - 1) / block + 1;
  const Expr n = builder_.let(count, "rows");
  values_.own(n);
  builder_.loop(binary(Op::truncdiv, n + Expr(block - 1), Expr(block)), [&](const Expr& b) {
    values_.open_scope({b});
    declared(b, blocks);
    const Expr begin = builder_.let(first + b * Expr(block), "begin");
    values_.own(begin);
    values_.math().declare(begin, std::max<int64_t>(rows - block, 0) + 1);
    some(begin, binary(Op::min, n - b * Expr(block), Expr(block)), std::min(block, rows));
    add_block();
    values_.close_scope();
  });
  builder_.each(Expr(frame_.row_elements()), [&](const Expr& c) {
    for (const FoldCall& f : folds_)
      if (total(f)) store_partial(f, c, cast(sum_at(*total(f), f, c), accumulator(f)));
  });
}

void GroupWriter::add_block() {
  builder_.each(Expr(frame_.row_elements()), [&](const Expr& c) {
    for (const FoldCall& f : folds_) {
      if (!total(f)) continue;
      const Expr sum = combined(rule(f).op, sum_at(*total(f), f, c),
                                cast(sum_at(*partial(f), f, c), DType::f64));
      store_sum(*total(f), f, c, sum);
      store_partial(f, c, identity_of(rule(f).op, partial(f)->dtype));
    }
  });
}

void GroupWriter::make_partials() {
  int64_t bytes = 0, total_bytes = 0, parts = 1;
  const auto has_total = [&](const FoldCall& f) {
    return f.form.step > column_terms.whole && rounds(rule(f).op, accumulator(f));
  };
  for (const FoldCall& f : folds_)
    if (!f.in_rows) {
      bytes += rounded(f.form.results * size_of(accumulator(f)));
      if (has_total(f)) total_bytes += rounded(f.form.results * size_of(DType::f64));
      parts = f.form.parts;
    }
  // Totals are of one part at a time.
  const bool local_totals = total_bytes <= max_local_bytes / 4;
  if (local_totals) room_ -= total_bytes;
  has_local_sums_ = parts == 1 && bytes <= max_local_bytes / 2;
  if (has_local_sums_) room_ -= bytes;
  const auto make = [&](bool is_local) {
    for (const FoldCall& f : folds_) {
      if (f.in_rows) continue;
      const auto sums = [&](const char* name, DType type) {
        return is_local ? local_sums(f, name, type) : sums_of_parts(f, name, type);
      };
      if (is_local == has_local_sums_)
        partial(f) = sums(is_local ? ".sum" : ".partial", accumulator(f));
      if (is_local == local_totals && has_total(f)) total(f) = sums(".total", DType::f64);
    }
  };
  make(false);
  make(true);  // after the others, which have a storage each
}

Bound GroupWriter::local_sums(const FoldCall& f, const char* name, DType type) {
  Bound at;
  at.buffer = static_cast<int64_t>(kernel_.buffers.size());
  at.dtype = type;
  kernel_.buffers.push_back(
      {graph_.name(f.result) + name, type, std::max<int64_t>(f.form.results, 1), Access::local});
  return at;
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
