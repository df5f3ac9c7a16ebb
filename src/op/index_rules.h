// Shared by operators that read indices: accepted dtypes, the range of an index, and the message
// that both engines report for an index outside it:
//
//   gather: index: index 9 is out of range [0, 5)
//   index: indices[1]: index -7 is out of range [-5, 5)
#pragma once
#include <string>
#include <string_view>

#include "ir/op_view.h"
#include "loop/kernel_builder.h"

namespace cleave {

// A negative index counts from the end in ATen's index and index_put; other operators refuse it.
enum class NegativeIndex { from_end, refused };

// Breaks `rule` unless the indices are i64 or i32.
Status check_index_dtype(const OpView& op, std::string_view rule, std::string_view operand,
                         const Type& index);

// Breaks `rule` unless inner[d] <= outer[d] is proven; `operand` and `of` name the two.
Status check_within(const OpView& op, std::string_view rule, std::string_view operand,
                    const Type& inner, std::string_view of, const Type& outer, int64_t d);

// For reference rules: returns the index as a position in [0, bound).
Result<int64_t> index_in_range(const OpView& op, std::string_view operand, int64_t index,
                               int64_t bound, NegativeIndex negative);

// For kernels: the same, with a check.
loop::Expr checked_index(loop::KernelBuilder& k, const OpView& op, std::string_view operand,
                         loop::Expr index, int64_t bound, NegativeIndex negative);
// Checks every element of an operand in a separate loop that writes nothing.
void check_indices(loop::KernelBuilder& k, const OpView& op, std::string_view operand, int flat,
                   int64_t bound, NegativeIndex negative);

}  // namespace cleave
