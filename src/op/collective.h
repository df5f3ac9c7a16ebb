// What the rules of collectives share.
//
// A collective is one call on each rank of a group: the same program runs on all ranks (SPMD), and
// the call of one waits for the calls of the others. Its meaning is the entry's rule `ranks`: the
// operands of all ranks of the group, in the group's order, to their results. The reference is that
// rule for a rank that runs alone, a group of one; interp/interpret_ranks.h runs several.
//
// Sums go over the ranks in their order and are rounded once. A sum of bool is `or`, a product is
// `and`; min and max give NaN where a rank has it.
//
//   (C1) reduce_op is sum, avg, product, min or max
//   (C2) avg: the dtype is floating
//   (C3) group_size is at least 1
//   (C9) as many ranks run as group_size says; known only when they do
#pragma once
#include <string_view>
#include <vector>

#include "ir/builder.h"
#include "ir/op_view.h"

namespace cleave {

// Never computed again, and no kernel of its own: it may go, or be merged with an equal call, as
// all ranks then do the same.
inline constexpr Trait collective_traits = Trait::collective;
inline constexpr const char* no_transport = "no transport between ranks is built in";

// C1 and C2 for operand x, named so in the message; C3.
Status check_reduce_op(const OpView& op, const Type& x, std::string_view operand);
Status check_group_size(const OpView& op);
// C9.
Status check_ranks(const OpView& op, size_t ranks);
// The type with x's dtype and device.
Type collective_type(const Type& x, Shape shape);

// The arrays of all ranks, of one type, reduced element by element by the attribute reduce_op.
Array reduced(const OpView& op, const std::vector<const Array*>& of_ranks);
// Joined along `dim`, and the k-th of n equal parts along it.
Array joined(const std::vector<const Array*>& of_ranks, int64_t dim);
Array part_of(const Array& x, int64_t dim, int64_t k, int64_t n);
// Operand `operand` (flat) of each rank.
std::vector<const Array*> operand_of_ranks(const RankArrays& in, size_t operand);

// `ranks` for a group of one.
ReferenceFn reference_alone(RanksFn ranks);

// For decompositions and gradients: the call and its wait, of this call's group.
ValueId reduced_and_waited(Builder& b, const OpView& op, ValueId x);
ValueId gathered_and_waited(Builder& b, const OpView& op, ValueId x);
ValueId scattered_and_waited(Builder& b, const OpView& op, ValueId x, std::string_view reduce_op);
// Whether a gradient is there: of sum and avg alone, as the others aren't linear. Else b fails.
bool has_linear_reduce_op(Builder& b, const OpView& op, const char* file);

}  // namespace cleave
