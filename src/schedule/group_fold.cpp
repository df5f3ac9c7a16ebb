#include "schedule/group_fold.h"

#include <algorithm>

#include "loop/sum_blocks.h"

namespace cleave {

using namespace cleave::loop;

const ReductionRule& rule_of(const GroupContext& c, const FoldCall& f) {
  return std::get<ReductionRule>((*c.calls.graph.node(f.node).op->lower)->form);
}

DType accumulator(const GroupContext& c, const FoldCall& f) {
  const OpView op = c.calls.graph.view(f.node);
  return rule_of(c, f).map(op, constant(compute_type(op.in_type(0).dtype), 0)).type();
}

DType parts_type(const GroupContext& c, const FoldCall& f) {
  const DType t = accumulator(c, f);
  return rounds(rule_of(c, f).op, t) ? DType::f64 : t;
}

Expr mapped(GroupContext& c, const FoldCall& f, const FrameElement& at) {
  const Expr x = c.values.value(f.operand, c.index_of(at.number, f.operand));
  return rule_of(c, f).map(c.calls.graph.view(f.node), x);
}

Expr finished(const GroupContext& c, const FoldCall& f, Expr folded) {
  const OpView op = c.calls.graph.view(f.node);
  const ReductionRule& rule = rule_of(c, f);
  if (rule.finish) folded = rule.finish(op, std::move(folded), f.form.count);
  const DType stored = op.out_type(0).dtype;
  folded = cast(std::move(folded), compute_type(stored));
  return compute_type(stored) == stored ? folded : round_to_stored(std::move(folded), stored);
}

Expr combined(ReduceOp op, const Expr& a, const Expr& b) {
  switch (op) {
    case ReduceOp::sum: return a + b;
    case ReduceOp::prod: return a * b;
    case ReduceOp::max:
      return a.type() == DType::boolean ? binary(Op::logical_or, a, b) : binary(Op::max, a, b);
    case ReduceOp::min:
      return a.type() == DType::boolean ? binary(Op::logical_and, a, b) : binary(Op::min, a, b);
    case ReduceOp::any: return binary(Op::logical_or, a, b);
    case ReduceOp::all: return binary(Op::logical_and, a, b);
  }
  return a;
}

void set_folded(GroupContext& c, const FoldCall& f, const Expr& folded, const FrameElement& row) {
  const Expr done = c.builder.let(finished(c, f, folded), "folded");
  c.values.scopes().own(done);
  c.values.sources().set_folded(f.result, {c.index_of(row.row, f.result), done});
}

const Bound& stored_at(const GroupContext& c, const FoldCall& f) {
  return std::ranges::find(c.calls.results, f.result, &GroupResult::value)->at;
}

Expr rows_of_part(const Expr& first, const FoldForm& cut) {
  const int64_t extent = cut.runs[cut.cut_run()].extent;
  return binary(Op::max, binary(Op::min, Expr(extent) - first, Expr(cut.step)), Expr(0));
}

}  // namespace cleave
