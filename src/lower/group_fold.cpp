#include "lower/group_fold.h"

#include "loop/sum_blocks.h"

namespace cleave {

using namespace cleave::loop;

const ReductionRule& rule_of(const Graph& graph, const FoldCall& f) {
  return std::get<ReductionRule>((*graph.node(f.node).op->lower)->form);
}

DType accumulator(const Graph& graph, const FoldCall& f) {
  const OpView op = graph.view(f.node);
  return rule_of(graph, f).map(op, constant(compute_type(op.in_type(0).dtype), 0)).type();
}

DType parts_type(const Graph& graph, const FoldCall& f) {
  const DType t = accumulator(graph, f);
  return rounds(rule_of(graph, f).op, t) ? DType::f64 : t;
}

Expr finished(const Graph& graph, const FoldCall& f, Expr folded) {
  const OpView op = graph.view(f.node);
  const ReductionRule& rule = rule_of(graph, f);
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

Expr rows_of_part(const Expr& first, const FoldForm& cut) {
  const int64_t extent = cut.runs[cut.cut_run()].extent;
  return binary(Op::max, binary(Op::min, Expr(extent) - first, Expr(cut.step)), Expr(0));
}

}  // namespace cleave
