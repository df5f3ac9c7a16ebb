// Checks dims named by attributes, counts them from the front, and derives shapes of reductions.
//
//   dim -1 of f32[2,3]           -> 1
//   dims [] or none, reduced     -> every dim
//   f32[2,3,4] reduced over 0,2  -> [3], or [1,3,1] with keepdim
//
// A 0-d tensor counts as one dim of size 1 where ATen lets it (`Rank0::as_one`).
#pragma once
#include <string_view>
#include <vector>

#include "ir/builder.h"
#include "ir/op_view.h"

namespace cleave {

enum class Rank0 { as_one, refused };

// Returns `dim` counted from the front. Breaks `rule` if outside [-rank, rank) of the operand.
Result<int64_t> checked_dim(const OpView& op, std::string_view rule, int64_t dim, const Type& x,
                            Rank0 rank0 = Rank0::as_one, std::string_view operand = "self");
// Counts each of `dims` from the front, in the order given; a repeated dim breaks `twice`.
Result<std::vector<int64_t>> checked_dims(const OpView& op, std::string_view rule,
                                          std::string_view twice, const std::vector<int64_t>& dims,
                                          const Type& x);
// Counts a dim from the front that infer has checked.
int64_t from_front(int64_t dim, int64_t rank);
std::vector<int64_t> from_front(std::vector<int64_t> dims, int64_t rank);

// Returns the dims that the attribute `dim` of a reduction names, sorted: a number, a list, or
// every dim for none and []. infer has checked them with checked_reduction (C1: range, C2: each
// once).
std::vector<int64_t> reduction_dims(const OpView& op);
Result<std::vector<int64_t>> checked_reduction(const OpView& op);
Shape reduced_shape(const Shape& shape, const std::vector<int64_t>& dims, bool keepdim);
// The number of elements along `dims`.
Dim count_along(const Shape& shape, const std::vector<int64_t>& dims);

// Returns a type with x's device.
Type typed_like(const Type& x, DType dtype, Shape shape);

// Breaks `rule` unless a and b are proven equal; `what` names them:
// "what: 2 and 3, expected equal" or "what: s0 and 3, which can't be proven equal".
Status check_equal(const OpView& op, std::string_view rule, std::string_view what, const Dim& a,
                   const Dim& b);
// The same for whole shapes.
Status check_same_shape(const OpView& op, std::string_view rule, std::string_view what,
                        const Shape& a, const Shape& b);

std::string_view operand_name(const OpView& op, int k);
// Breaks `rule` unless operand k has the dtype of operand `as`:
// "src is f64[2], expected the dtype of self: f32".
Status check_same_dtype(const OpView& op, std::string_view rule, int k, int as);
// Breaks `rule` unless operand k is floating: "self is i64[2], expected a floating dtype".
Status check_floating(const OpView& op, std::string_view rule, int k);

// For gradients: v, which lacks the reduced dims of `shape`, with those dims restored as size 1.
ValueId with_kept_dims(Builder& b, ValueId v, const Shape& shape, const std::vector<int64_t>& dims);
// The number of elements along `dims` of x, as an operand: a number, or a product of sym_size.
CallOperand count_operand(Builder& b, ValueId x, const std::vector<int64_t>& dims);
// Zeros of a type.
ValueId zeros(Builder& b, const Type& t);

}  // namespace cleave
