// Shared by the entries of reductions. A reduction folds the named dims of its first operand:
//
//   (C1) dims in range; a 0-d operand counts as one dim   (C2) each once
//
// apply to all of them; the entries continue from C3.
#pragma once
#include "op/cost.h"
#include "op/dims.h"
#include "op/entry.h"
#include "op/reference_lines.h"
#include "op/sample_sets.h"

namespace cleave {

inline constexpr Trait reduction_traits = Trait::reduction | Trait::fusible | Trait::recomputable;

// Returns the type of the result and checks C1 and C2.
Result<Types> reduced_type(const OpView& op, DType dtype);

// The accumulator dtype: f64, f32, or i64 for integers and bool.
DType accumulator(DType t);
// Converts x, loaded from dtype `from`, to dtype `to` as _to_copy does; returns it in the
// accumulator of `to`.
loop::Expr converted_for(loop::Expr x, DType from, DType to);

// Folds the operand, converted to the dtype of the result.
loop::ReductionRule reduction_rule(loop::ReduceOp op);

// The fold of one line of numbers.
using FoldFloat = std::function<double(const Array& x, const std::vector<int64_t>& line)>;
using FoldInteger = std::function<int64_t(const Array& x, const std::vector<int64_t>& line)>;
// Folds every line of x; `floating` is for floating x, `integer` for other dtypes.
Array fold_lines(const OpView& op, const Array& x, DType result, const FoldFloat& floating,
                 const FoldInteger& integer);

// dout with the folded dims restored as size 1.
ValueId kept_dout(Builder& b, const GradView& op, const std::vector<int64_t>& dims);
// The results of this call with the folded dims restored as size 1.
ValueId kept_out(Builder& b, const GradView& op, const std::vector<int64_t>& dims);

// Sample calls for every way to fold: all, one dim, several, keepdim, empty dims, 0-d.
std::vector<Sample> fold_samples(DType t);

}  // namespace cleave
