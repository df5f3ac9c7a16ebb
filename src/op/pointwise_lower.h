// Scalar expressions of pointwise lowering: operands converted to their promoted dtype.
#pragma once
#include "ir/op_view.h"
#include "loop/lower_rule.h"

namespace cleave::loop {

// Converts x, loaded from storage of dtype `from`, to dtype `to`: cast to its compute type, rounded
// if `to` is bf16 or f16, wrapped if it is a narrow integer.
Expr as_dtype(Expr x, DType from, DType to);
// A number as a constant of the compute type of `meet`; integers are wrapped to `meet`.
Expr number_constant(const AttrValue& number, DType meet);
// The same, rounded to `meet` where that is bf16 or f16: for comparisons.
Expr rounded_constant(const AttrValue& number, DType meet);
// The operand's scalar in `meet`; x holds the operands' scalars as loop::pointwise passes them.
Expr operand_as(const OpView& op, const Exprs& x, int operand, DType meet);
// The same through an elementwise rule's builder.
Expr load_as(KernelBuilder& k, const OpView& op, int operand, const Exprs& index, DType meet);

// An elementwise rule that reads its operands only through load_as and load_broadcast: equivalent
// to loop::pointwise, for rules that also check values or have several results.
LowerPtr broadcasting(std::function<Exprs(KernelBuilder&, const OpView&, const Exprs&)> value);

// A constant of the type of x.
Expr same(const Expr& x, double value);

}  // namespace cleave::loop
