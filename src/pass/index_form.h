// Values that are affine in the position of their element, and bools that compare such values.
//
//   offset + strides[0] * i0 + strides[1] * i1 + ...        an integer, or a float that is whole
//   offset + strides[0] * i0 + ... >= 0                     a bool
//
// Both are written as a Layout of the value's shape; dims of size 1 have stride 0. Masks of
// attention and positions of tokens are computed from arange in this way:
//
//   arange, cumsum of one number        a position
//   views, copies, flip, cat, index     by the layout of a view; cat: where the pieces continue
//   add, sub, rsub, neg, mul            with whole numbers, of one dtype
//   lt, le, gt, ge, eq, ne              eq and ne: where one is true everywhere
//   logical_not, _and, _or, bitwise_*   of bools: where one of the two decides or doesn't count
//
// Static shapes only; numbers up to 2^52, and up to what the dtype holds exactly.
#pragma once
#include <functional>
#include <optional>

#include "base/layout.h"
#include "ir/op_view.h"

namespace cleave {

// The form of an operand, by its position among the call's flat inputs; none: not known.
using OperandForm = std::function<std::optional<Layout>(int)>;

// Returns the form of result k, or none.
std::optional<Layout> index_form(const OpView& call, int k, const OperandForm& operand);

// The form of a value whose elements are all one number; none if it isn't whole.
std::optional<Layout> uniform_form(const Type& t, const AttrValue& number);
// The number of a form without strides, or of a bool that is one thing everywhere; none otherwise,
// and of floats: 0 may be -0.
std::optional<AttrValue> uniform_number(const Layout& form, DType t);

}  // namespace cleave
