// The rules of a fold of a group: what is added, in which type and parts, and what the result is.
#pragma once
#include "schedule/group_context.h"

namespace cleave {

const loop::ReductionRule& rule_of(const GroupContext& c, const FoldCall& f);
// The type in which it is folded, and that in which its parts are added: f64 if the former rounds.
DType accumulator(const GroupContext& c, const FoldCall& f);
DType parts_type(const GroupContext& c, const FoldCall& f);

// The value that the fold takes for the element.
loop::Expr mapped(GroupContext& c, const FoldCall& f, const FrameElement& at);
loop::Expr combined(loop::ReduceOp op, const loop::Expr& a, const loop::Expr& b);
// The result, rounded to its dtype, from what was folded.
loop::Expr finished(const GroupContext& c, const FoldCall& f, loop::Expr folded);
// From here on, reads of the fold's result in this row give `folded`.
void set_folded(GroupContext& c, const FoldCall& f, const loop::Expr& folded,
                const FrameElement& row);
// The buffer of a fold's result. Precondition: the result is stored.
const loop::Bound& stored_at(const GroupContext& c, const FoldCall& f);

// How many elements of the split run are in the part that begins at `first`.
loop::Expr rows_of_part(const loop::Expr& first, const FoldForm& cut);

}  // namespace cleave
