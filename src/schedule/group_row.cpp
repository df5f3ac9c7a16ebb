#include "schedule/group_row.h"

#include <algorithm>

#include "schedule/group_fold.h"
#include "schedule/group_results.h"
#include "schedule/one_term.h"

namespace cleave {

using namespace cleave::loop;

void nest(KernelBuilder& builder, const Exprs& extents, bool independent,
          const std::function<void(const Exprs&)>& body) {
  Exprs vars;
  const std::function<void()> inside = [&] {
    if (vars.size() == extents.size()) return body(vars);
    const auto next = [&](const Expr& v) {
      vars.push_back(v);
      inside();
      vars.pop_back();
    };
    if (independent && vars.size() + 1 == extents.size())
      builder.each(extents[vars.size()], next);
    else
      builder.loop(extents[vars.size()], next);
  };
  inside();
}

RowWriter::RowWriter(GroupContext& c, ColumnSums* columns)
    : c_(c), columns_(columns), kept_(c, max_local_bytes - (columns ? columns->local_bytes() : 0)),
      scattered_(c, kept_) {}

Exprs RowWriter::element_parts(const Exprs& row, const Exprs& inner) {
  Exprs parts = row;
  size_t next = 0;
  for (size_t d = 0; d < parts.size(); ++d)
    if (const auto& [extent, is_row] = c_.plan.frame.parts[d]; !is_row)
      parts[d] = c_.declared(inner[next++], extent);
  return parts;
}

void RowWriter::write(const Expr& row) {
  const Exprs parts = c_.row_parts(row);
  for (size_t pass = 0; pass <= c_.plan.last_pass; ++pass) write_pass(parts, pass);
  for (const int64_t length : own_lengths(c_)) {
    c_.accesses.set_no_element(c_.plan.last_pass);
    kept_.read_row(row);
    nest(c_.builder, {Expr(length)}, true, [&](const Exprs& inner) {
      const OpenScope scope(c_, inner);
      store_own_results(c_, row, c_.declared(inner[0], length), length);
    });
  }
}

void RowWriter::write_pass(const Exprs& row, size_t pass) {
  // The inner variables aren't declared yet.
  Exprs only_row = row, inner_extents;
  for (size_t d = 0; d < row.size(); ++d)
    if (const auto& [extent, is_row] = c_.plan.frame.parts[d]; !is_row) {
      only_row[d] = Expr(0);
      inner_extents.emplace_back(extent);
    }
  if (inner_extents.empty()) inner_extents.emplace_back(1);
  store_row_results(c_, c_.element(only_row, pass), pass);
  Folds folds;
  for (const FoldCall& f : c_.plan.folds)
    if (f.in_rows && f.pass == pass) folds.push_back(&f);
  const auto body = [&](const Exprs& inner) { return element(row, inner, folds, pass); };
  if (folds.empty()) {
    if (has_work(pass)) nest(c_.builder, inner_extents, true, body);
    return scatter(row, inner_extents, pass);
  }
  const Exprs sums = c_.builder.folds(inner_extents, body);
  write_one_term(*c_.sheet.open.back());
  const FrameElement at = c_.element(only_row, pass);
  for (size_t k = 0; k < folds.size(); ++k) {
    c_.values.scopes().own(sums[k]);
    set_folded(c_, *folds[k], sums[k], at);
  }
  scatter(row, inner_extents, pass);
}

void RowWriter::scatter(const Exprs& row, const Exprs& inner_extents, size_t pass) {
  if (!scattered_.are_stored(pass)) return;
  nest(c_.builder, inner_extents, false, [&](const Exprs& inner) {
    const OpenScope scope(c_, inner);
    scattered_.store(c_.element(element_parts(row, inner), pass), pass);
  });
}

std::vector<KernelBuilder::Folded> RowWriter::element(const Exprs& row, const Exprs& inner,
                                                      const Folds& folds, size_t pass) {
  const OpenScope scope(c_, inner);
  const FrameElement at = c_.element(element_parts(row, inner), pass);
  kept_.read(at, pass);
  kept_.store(at, pass);
  std::vector<KernelBuilder::Folded> out;
  for (const FoldCall* f : folds) out.push_back({rule_of(c_, *f).op, mapped(c_, *f, at)});
  std::vector<std::pair<const FoldCall*, Expr>> sums;
  for (const FoldCall& f : c_.plan.folds)
    if (!f.in_rows && f.pass == pass) sums.emplace_back(&f, c_.builder.let(mapped(c_, f, at), "v"));
  std::vector<ResultValue> stored = results_of(c_, at, pass);
  if (!stored.empty())  // they may overwrite what the folds read
    for (KernelBuilder::Folded& f : out) f.value = c_.builder.let(f.value, "v");
  scattered_.take(stored, at);
  store_all(c_, std::move(stored));
  for (const auto& [f, x] : sums) columns_->add(*f, at.inner, x);
  return out;
}

bool RowWriter::has_work(size_t pass) const {
  return has_results(c_, pass) || kept_.are_stored(pass) ||
         std::ranges::any_of(c_.plan.folds, [&](const FoldCall& f) { return f.pass == pass; });
}

}  // namespace cleave
