// What each operation of expr.h takes and gives: what the bytecode and the C text know.
//
//   exp      one floating operand                      gives its type
//   shl      two integers or bools of one type         gives their type
//   lt       two operands of one type                  gives bool
//   philox   four i64                                  gives i64
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
// Which types these are: "f64 or f32".
std::string_view types_taken(Op op);
bool takes(ReduceOp op, DType type);
// The type of the result, from that of the operands.
DType result_type(Op op, DType operand);

// The type that a number without one gets as operand i of a call from which `wanted` is wanted.
std::optional<DType> wanted_by(Op op, size_t i, std::optional<DType> wanted);
// The other operand of one type with operand i, beside which a number gets that type.
std::optional<size_t> partner_of(Op op, size_t i);

}  // namespace cleave::loop
