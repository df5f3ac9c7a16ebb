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
    : c_(c), columns_(columns), kept_(c, max_local_bytes - (columns ? columns->local_bytes() : 0)) {
  find_scattered();
}

void RowWriter::find_scattered() {
  const int64_t length = c_.plan.frame.row_elements();
  for (const GroupResult& r : c_.calls.results) {
    const auto order = c_.plan.orders.find(r.value.v);
    if (order == c_.plan.orders.end()) continue;
    const Reorder::Digit& last = order->second.digits().back();
    if (last.to == 1 && last.extent % length == 0) continue;
    const DType dtype = compute_type(r.at.dtype);
    if (!kept_.take_bytes(length * size_of(dtype))) continue;
    scattered_.emplace_back(&r, std::ssize(c_.kernel.buffers));
    c_.kernel.buffers.push_back({c_.calls.graph.name(r.value), dtype, length, Access::local});
  }
}

const int64_t* RowWriter::scattered_from(ValueId v) const {
  const auto at = std::ranges::find(scattered_, v, [](const auto& s) { return s.first->value; });
  return at == scattered_.end() ? nullptr : &at->second;
}

void RowWriter::scatter(const Exprs& row, const Exprs& inner_extents, size_t pass) {
  for (const auto& [r, local] : scattered_) {
    if (c_.plan.pass_of(r->value) != pass) continue;
    nest(c_.builder, inner_extents, false, [&](const Exprs& inner) {
      const OpenScope scope(c_, inner);
      const FrameElement at = c_.element(element_parts(row, inner), pass);
      const DType dtype = c_.kernel.buffers[static_cast<size_t>(local)].dtype;
      c_.store(r->at, c_.index_at(at, r->value), load(local, dtype, at.inner));
    });
  }
}

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
    scatter(row, inner_extents, pass);
    return;
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
  for (ResultValue& x : stored)
    if (const int64_t* local = scattered_from(x.result->value))
      c_.sheet.open.back()->push_back({Store{*local, at.inner, std::move(x.value)}});
  std::erase_if(stored, [&](const ResultValue& x) { return scattered_from(x.result->value); });
  store_all(c_, std::move(stored));
  for (const auto& [f, x] : sums) columns_->add(*f, at.inner, x);
  return out;
}

bool RowWriter::has_work(size_t pass) const {
  return has_results(c_, pass) || kept_.are_stored(pass) ||
         std::ranges::any_of(c_.plan.folds, [&](const FoldCall& f) { return f.pass == pass; });
}

}  // namespace cleave
