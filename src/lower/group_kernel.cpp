#include "lower/group_kernel.h"

#include <algorithm>

#include "lower/group_writer.h"

namespace cleave {

using namespace cleave::loop;

GroupCode GroupWriter::write() {
  for (const auto& [v, at] : operands_) values_.bind(v, at);
  for (const GroupResult& r : results_) values_.add_use(r.value);
  switch (plan_.mode) {
    case GroupMode::plain: plain(); break;
    case GroupMode::rows: row_passes(false); break;
    case GroupMode::rows_and_columns: row_passes(true); break;
    case GroupMode::columns: column_blocks(); break;
    case GroupMode::lanes: lanes(); break;
    case GroupMode::chunks: chunks(); break;
  }
  GroupCode out;
  out.streams = values_.streams();
  const bool by_rows = plan_.mode == GroupMode::rows || plan_.mode == GroupMode::rows_and_columns;
  if (folds_.empty() || by_rows) out.in_place = in_place();
  return out;
}

void GroupWriter::set_frame(const Exprs& parts) {
  Exprs rows;
  std::vector<int64_t> all_factors(parts.size()), row_factors, inner_factors;
  Exprs inner;
  int64_t step = 1, row_step = 1, inner_step = 1;
  row_factors.assign(parts.size(), 0), inner_factors.assign(parts.size(), 0);
  for (size_t d = parts.size(); d-- > 0;) {
    const int64_t extent = frame_.parts[d].extent;
    all_factors[d] = step;
    step *= extent;
    int64_t& own = frame_.parts[d].is_row ? row_step : inner_step;
    (frame_.parts[d].is_row ? row_factors : inner_factors)[d] = own;
    own *= extent;
  }
  IndexMath& math = values_.math();
  if (parts.empty()) {
    number_ = row_ = inner_ = Expr(0);
    return;
  }
  number_ = math.dot(parts, all_factors);
  values_.set_element(number_, pass_);
  row_ = math.dot(parts, row_factors);
  inner_ = math.dot(parts, inner_factors);
}

void GroupWriter::split_rows(const Expr& p, Exprs& parts) {
  std::vector<int64_t> extents;
  for (const Frame::Part& part : frame_.parts)
    if (part.is_row) extents.push_back(part.extent);
  const Exprs index = values_.math().delinearise(p, extents);
  size_t next = 0;
  for (size_t d = 0; d < parts.size(); ++d)
    if (frame_.parts[d].is_row) parts[d] = index[next++];
}

Expr GroupWriter::declared(const Expr& var, int64_t extent) {
  values_.math().declare(var, extent);
  return extent == 1 ? Expr(0) : var;
}

Expr GroupWriter::mapped(const FoldCall& f) {
  const OpView op = graph_.view(f.node);
  return rule(f).map(op, values_.operand(f.node, 0, operand_index(f)));
}

Expr GroupWriter::finished(const FoldCall& f, Expr folded) {
  const OpView op = graph_.view(f.node);
  if (rule(f).finish) folded = rule(f).finish(op, std::move(folded), f.form.count);
  const DType stored = op.out_type(0).dtype;
  folded = cast(std::move(folded), compute_type(stored));
  return compute_type(stored) == stored ? folded : round_to_stored(std::move(folded), stored);
}

DType GroupWriter::accumulator(const FoldCall& f) const {
  const OpView op = graph_.view(f.node);
  return rule(f).map(op, constant(compute_type(op.in_type(0).dtype), 0)).type();
}

void GroupWriter::finish_fold(const FoldCall& f, const Expr& folded) {
  const Expr done = builder_.let(finished(f, folded), "folded");
  values_.set_folded(f.result, row_index(f.result), done);
}

void GroupWriter::store(const Bound& at, const Exprs& index, Expr value, bool is_last) {
  Expr address = values_.address(at.layout, index);
  writes_.push_back({at.buffer, pass_, is_last && values_.is_of_element(address)});
  sheet_.open.back()->push_back({Store{at.buffer, std::move(address), std::move(value)}});
}

void GroupWriter::store_all(std::vector<Pending> list) {
  if (list.size() > 1)
    for (Pending& p : list) p.value = builder_.let(p.value, "out");
  for (Pending& p : list) store(p.result->at, index_in(p.result->value), p.value, true);
}

std::vector<GroupWriter::Pending> GroupWriter::results_of_pass(std::optional<size_t> pass) {
  std::vector<Pending> out;
  for (const GroupResult& r : results_)
    if (is_full(r.value) && !fold_of(r.value) && (!pass || pass_of(r.value) == *pass))
      out.push_back({&r, values_.value(r.value, index_in(r.value))});
  return out;
}

const GroupResult& GroupWriter::result_of(const FoldCall& f) const {
  return *std::find_if(results_.begin(), results_.end(),
                       [&](const GroupResult& r) { return r.value == f.result; });
}

void GroupWriter::nest(const Exprs& extents, bool independent, const Exprs& vars,
                       const std::function<void(const Exprs&)>& body) {
  if (vars.size() == extents.size()) return body(vars);
  const auto inside = [&](const Expr& v) {
    Exprs more = vars;
    more.push_back(v);
    nest(extents, independent, more, body);
  };
  if (independent && vars.size() + 1 == extents.size())
    builder_.each(extents[vars.size()], inside);
  else
    builder_.loop(extents[vars.size()], inside);
}

void GroupWriter::row_results(size_t pass) {
  std::vector<Pending> out;
  for (const GroupResult& r : results_) {
    if (const FoldCall* f = fold_of(r.value); f && !f->in_rows) continue;
    if (!fold_of(r.value) && is_full(r.value)) continue;
    if (pass_of(r.value) != pass) continue;
    out.push_back({&r, values_.value(r.value, row_index(r.value))});
  }
  if (out.size() > 1)
    for (Pending& p : out) p.value = builder_.let(p.value, "out");
  for (Pending& p : out) store(p.result->at, row_index(p.result->value), p.value);
}

GroupCode write_group(const Graph& graph, const std::vector<NodeId>& nodes,
                      const std::vector<std::pair<ValueId, Bound>>& operands,
                      const std::vector<GroupResult>& results, Kernel& kernel,
                      const MakePartial& make_partial) {
  std::vector<ValueId> stored;
  for (const GroupResult& r : results) stored.push_back(r.value);
  Result<GroupPlan> plan = GroupPlan::make(graph, nodes, stored);
  if (!plan.ok()) throw_failure(plan.failure());
  return GroupWriter(graph, nodes, *std::move(plan), operands, results, kernel, make_partial)
      .write();
}

}  // namespace cleave
