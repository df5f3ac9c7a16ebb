// The types that each operation of expr.h takes and returns, for the bytecode and the C text.
//
//   exp      one floating operand                      returns its type
//   shl      two integers or bools of one type         returns their type
//   lt       two operands of one type                  returns bool
//   philox   four i64                                  returns i64
#pragma once
#include <optional>
#include <string_view>

#include "loop/kernel.h"

namespace cleave::loop {

// The operation that the text writes as name(operands): all but constant, var, load and cast.
std::optional<Op> call_named(std::string_view name);
std::optional<ReduceOp> reduce_op_named(std::string_view name);

size_t operand_count(Op op);
// Whether operands may have the type; of a select, the operands after the condition.
bool takes(Op op, DType type);
// These types as text: "f64 or f32".
std::string_view types_taken(Op op);
bool takes(ReduceOp op, DType type);
// The result's type for the operands' type.
DType result_type(Op op, DType operand);

// The type of an untyped number as operand i of a call whose result should have the type `wanted`.
std::optional<DType> wanted_by(Op op, size_t i, std::optional<DType> wanted);
// The operand that has operand i's type, beside which a number gets that type.
std::optional<size_t> partner_of(Op op, size_t i);

}  // namespace cleave::loop
