// Shared by the rules of collectives.
//
// A collective is one call on each rank of a group: the same program runs on all ranks (SPMD), and
// the call on one rank waits for the calls on the other ranks. Its semantics are the entry's rule
// `ranks`, which maps the operands of all ranks, in the group's order, to their results. The
// reference runs that rule for a rank that runs alone, a group of one; interp/interpret_ranks.h
// runs several ranks.
//
// Sums are taken over the ranks in their order and rounded once. A sum of bool is `or`, a product
// is `and`; min and max return NaN if any rank has it.
//
//   (C1) reduce_op is sum, avg, product, min or max
//   (C2) avg: the dtype is floating
//   (C3) group_size is at least 1
//   (C9) the number of ranks that run equals group_size; checked only at run time
#pragma once
#include <string_view>
#include <vector>

#include "ir/builder.h"
#include "ir/op_view.h"

namespace cleave {

// A collective is never recomputed and has no kernel of its own. It may be removed or merged with
// an equal call, because all ranks do the same.
inline constexpr Trait collective_traits = Trait::collective;
inline constexpr const char* no_transport = "no transport between ranks is built in";

// Checks C1 and C2 for operand x, which the message calls `operand`, and C3.
Status check_reduce_op(const OpView& op, const Type& x, std::string_view operand);
Status check_group_size(const OpView& op);
// Checks C9.
Status check_ranks(const OpView& op, size_t ranks);
// Returns a type of this shape with x's dtype and device.
Type collective_type(const Type& x, Shape shape);

// Reduces the arrays of all ranks, which have one type, elementwise by the attribute reduce_op.
Array reduced(const OpView& op, const std::vector<const Array*>& of_ranks);
// Joined along `dim`, and the k-th of n equal parts along it.
Array joined(const std::vector<const Array*>& of_ranks, int64_t dim);
Array part_of(const Array& x, int64_t dim, int64_t k, int64_t n);
// Operand `operand` (flat) of each rank.
std::vector<const Array*> operand_of_ranks(const RankArrays& in, size_t operand);

// The reference rule made of `ranks` for a group of one.
ReferenceFn reference_alone(RanksFn ranks);

// For decompositions and gradients: emits the call and its wait, for the group of this call.
ValueId reduced_and_waited(Builder& b, const OpView& op, ValueId x);
ValueId gathered_and_waited(Builder& b, const OpView& op, ValueId x);
ValueId scattered_and_waited(Builder& b, const OpView& op, ValueId x, std::string_view reduce_op);
// Returns whether the gradient exists: only for sum and avg, which are linear. Otherwise b fails.
bool has_linear_reduce_op(Builder& b, const OpView& op, const char* file);

}  // namespace cleave
