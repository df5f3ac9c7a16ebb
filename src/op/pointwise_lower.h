// Scalar expressions of pointwise lowering: operands brought to the dtype in which they meet.
#pragma once
#include "ir/op_view.h"
#include "loop/lower_rule.h"

namespace cleave::loop {

// x, loaded from storage of dtype `from`, as a value of dtype `to`: cast to its compute type,
// rounded where `to` is bf16 or f16, wrapped where it is a narrow integer.
Expr as_dtype(Expr x, DType from, DType to);
// A number as a constant of the compute type of `meet`; integers are wrapped to `meet`.
Expr number_constant(const AttrValue& number, DType meet);
// The same, rounded to `meet` where that is bf16 or f16: for comparisons.
Expr rounded_constant(const AttrValue& number, DType meet);
// The operand's scalar in `meet`; x are the operands' scalars as loop::pointwise gives them.
Expr operand_as(const OpView& op, const Exprs& x, int operand, DType meet);
// The same through an elementwise rule's builder.
Expr load_as(KernelBuilder& k, const OpView& op, int operand, const Exprs& index, DType meet);

// An elementwise rule that reads its operands through load_as and load_broadcast alone: what
// loop::pointwise gives, for rules that also check values or have several results.
LowerPtr broadcasting(std::function<Exprs(KernelBuilder&, const OpView&, const Exprs&)> value);

// Constants of the type of x.
Expr same(const Expr& x, double value);

}  // namespace cleave::loop
