// A fold of a group: what it adds up, in which type, in which parts, and what becomes of the sum.
#pragma once
#include "schedule/group_context.h"

namespace cleave {

const loop::ReductionRule& rule_of(const GroupContext& c, const FoldCall& f);
// The type in which it is folded; in which its parts are, which is f64 where that rounds.
DType accumulator(const GroupContext& c, const FoldCall& f);
DType parts_type(const GroupContext& c, const FoldCall& f);

// What is folded of the element.
loop::Expr mapped(GroupContext& c, const FoldCall& f, const FrameElement& at);
loop::Expr combined(loop::ReduceOp op, const loop::Expr& a, const loop::Expr& b);
// The result, as it is when stored, of what was folded.
loop::Expr finished(const GroupContext& c, const FoldCall& f, loop::Expr folded);
// From here on the fold's result in this row is what was folded.
void set_folded(GroupContext& c, const FoldCall& f, const loop::Expr& folded,
                const FrameElement& row);
// Where the result is stored; only of folds that are (GroupPlan::make).
const loop::Bound& stored_at(const GroupContext& c, const FoldCall& f);

// How many of the run that is cut lie in the part that begins at `first`.
loop::Expr rows_of_part(const loop::Expr& first, const FoldForm& cut);

}  // namespace cleave
