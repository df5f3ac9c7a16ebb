// A fold of a group: its type, how values are added to it, and the parts that it is cut into.
#pragma once
#include "loop/lower_rule.h"
#include "lower/group_plan.h"

namespace cleave {

const loop::ReductionRule& rule_of(const Graph& graph, const FoldCall& f);
// The type in which it is folded; in which its parts are, which is f64 where that rounds.
DType accumulator(const Graph& graph, const FoldCall& f);
DType parts_type(const Graph& graph, const FoldCall& f);
// The result, as it is when stored, of what was folded.
loop::Expr finished(const Graph& graph, const FoldCall& f, loop::Expr folded);
loop::Expr combined(loop::ReduceOp op, const loop::Expr& a, const loop::Expr& b);
// How many of the run that is cut lie in the part that begins at `first`.
loop::Expr rows_of_part(const loop::Expr& first, const FoldForm& cut);

}  // namespace cleave
