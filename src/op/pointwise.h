// Shared by the pointwise entries in inference and gradients. Each element of the result depends on
// one element of each operand; operands are broadcast.
//
//   C1  shapes broadcast (broadcast.h)
//   C2  operands are on one device; a 0-d CPU tensor may be combined with any
//   C3  where numbers may replace operands, at least one operand is a tensor
//
// apply to every pointwise operator of more than one operand; the entries continue from C4.
#pragma once
#include <functional>
#include <initializer_list>
#include <string_view>

#include "ir/builder.h"
#include "ir/op_view.h"
#include "op/promotion.h"

namespace cleave {

// The type with `dtype`, the operands' broadcast shape and their device. Checks C1 to C3.
Result<Types> pointwise_type(const OpView& op, DType dtype, std::initializer_list<int> operands);
// The type of operand 0 with another dtype.
Types like_self(const OpView& op, DType dtype);

// "{rule}: self is bool[2], expected {expected}" unless `allowed` is true for the operand's dtype.
Status expect_dtype(const OpView& op, std::string_view rule, int operand, bool (*allowed)(DType),
                    std::string_view expected);

// Passes an operand to a new call: the value, or the number given in its place.
CallOperand operand_of(const OpView& op, int operand);

// The cotangent of an operand that was broadcast and converted: `g` has the result's shape, and is
// summed over the repeated dims and converted to the operand's dtype. `g` is called only if the
// operand's gradient is needed; otherwise returns none.
ValueId grad_to(Builder& b, const GradView& op, int operand, const std::function<ValueId()>& g);

// A gradient rule of one operand: dx from the call and the cotangent of result 0.
using UnaryGrad = ValueId (*)(Builder& b, const GradView& op, ValueId g);
GradFn unary_grad(UnaryGrad rule);
// The gradient rule of a step function: no gradient flows.
GradFn zero_grad();

constexpr Trait pointwise_traits = Trait::pointwise | Trait::fusible | Trait::recomputable;

}  // namespace cleave
