#include "schedule/column_sums.h"

#include <algorithm>

#include "base/alignment.h"
#include "loop/sum_blocks.h"
#include "schedule/group_fold.h"

namespace cleave {

using namespace cleave::loop;

namespace {

bool has_total(const GroupContext& c, const FoldCall& f) {
  return f.form.step > column_terms.whole && rounds(rule_of(c, f).op, accumulator(c, f));
}

}  // namespace

ColumnSums::ColumnSums(GroupContext& c, const MakePartial& make_partial) : c_(c) {
  int64_t bytes = 0, total_bytes = 0;
  for (const FoldCall& f : c.plan.folds) {
    if (f.in_rows) continue;
    folds_.push_back({&f, std::nullopt});
    bytes += rounded(f.form.results * size_of(accumulator(c, f)));
    if (has_total(c, f)) total_bytes += rounded(f.form.results * size_of(DType::f64));
  }
  // The sums of a single part are local if they are small. Totals belong to one part at a time.
  const bool local_totals = total_bytes <= max_local_bytes / 4;
  is_local_ = cut().parts == 1 && bytes <= max_local_bytes / 2;
  local_bytes_ = (local_totals ? total_bytes : 0) + (is_local_ ? bytes : 0);
  make(false, local_totals, make_partial);
  make(true, local_totals, make_partial);  // local buffers come last
}

void ColumnSums::make(bool is_local, bool local_totals, const MakePartial& make_partial) {
  for (Fold& f : folds_) {
    const auto sums = [&](const char* name, DType type) {
      return is_local ? PartSums::of_one(c_, *f.call, name, type)
                      : PartSums::of_all(c_, *f.call, name, type, make_partial);
    };
    if (is_local == is_local_)
      f.partial = sums(is_local ? ".sum" : ".partial", accumulator(c_, *f.call));
    if (is_local == local_totals && has_total(c_, *f.call)) f.total = sums(".total", DType::f64);
  }
}

bool ColumnSums::has_blocks() const {
  return std::ranges::any_of(folds_, [](const Fold& f) { return f.total.has_value(); });
}

void ColumnSums::begin(const Expr& part) {
  part_ = part;
  c_.builder.each(Expr(c_.plan.frame.row_elements()), [&](const Expr& column) {
    for (const Fold& f : folds_) {
      const ReduceOp op = rule_of(c_, *f.call).op;
      f.partial->store(c_, part_, column, identity_of(op, f.partial->dtype()));
      if (f.total) f.total->store(c_, part_, column, identity_of(op, DType::f64));
    }
  });
}

void ColumnSums::add(const FoldCall& f, const Expr& column, const Expr& x) {
  const PartSums& sums = *std::ranges::find(folds_, &f, &Fold::call)->partial;
  const ReduceOp op = rule_of(c_, f).op;
  sums.store(c_, part_, column, combined(op, sums.load(part_, column), x));
}

void ColumnSums::add_block() {
  c_.builder.each(Expr(c_.plan.frame.row_elements()), [&](const Expr& column) {
    for (const Fold& f : folds_) {
      if (!f.total) continue;
      const ReduceOp op = rule_of(c_, *f.call).op;
      const Expr block = cast(f.partial->load(part_, column), DType::f64);
      f.total->store(c_, part_, column, combined(op, f.total->load(part_, column), block));
      f.partial->store(c_, part_, column, identity_of(op, f.partial->dtype()));
    }
  });
}

void ColumnSums::add_blocks() {
  c_.builder.each(Expr(c_.plan.frame.row_elements()), [&](const Expr& column) {
    for (const Fold& f : folds_)
      if (f.total)
        f.partial->store(c_, part_, column, cast(f.total->load(part_, column), f.partial->dtype()));
  });
}

void ColumnSums::end_part() {
  if (!is_local_) return;
  const int64_t n = c_.plan.frame.row_elements();
  c_.builder.each(Expr(n), [&](const Expr& column) {
    for (const auto& [f, partial, total] : folds_)
      c_.store(stored_at(c_, *f), c_.index_of(c_.declared(column, n), f->result),
               finished(c_, *f, partial->load(part_, column)));
  });
}

void ColumnSums::end() {
  if (is_local_) return;
  std::vector<PartsOfFold> all;
  for (const Fold& f : folds_) all.push_back({f.call, &*f.partial});
  add_parts(c_, all);
}

}  // namespace cleave
