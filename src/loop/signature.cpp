#include "loop/signature.h"

#include <unordered_map>

namespace cleave::loop {
namespace {

constexpr Op last_op = Op::philox;

enum class OperandTypes { any, floating, integer, boolean, wide };

OperandTypes operands_of(Op op) {
  switch (op) {
    case Op::fmod:
    case Op::atan2: return OperandTypes::floating;
    case Op::truncdiv:
    case Op::truncmod:
    case Op::floordiv:
    case Op::floormod:
    case Op::bit_and:
    case Op::bit_or:
    case Op::bit_xor:
    case Op::bit_not:
    case Op::shl:
    case Op::shr: return OperandTypes::integer;
    case Op::logical_and:
    case Op::logical_or: return OperandTypes::boolean;
    case Op::philox: return OperandTypes::wide;
    case Op::floor:
    case Op::ceil:
    case Op::trunc:
    case Op::round:
    case Op::isnan:
    case Op::isinf: return OperandTypes::any;
    default: return op >= Op::exp && op <= Op::sigmoid ? OperandTypes::floating : OperandTypes::any;
  }
}

bool gives_bool(Op op) {
  return (op >= Op::eq && op <= Op::logical_or) || op == Op::logical_not || op == Op::isnan ||
         op == Op::isinf;
}

}  // namespace

std::optional<Op> call_named(std::string_view name) {
  static const auto by_name = [] {
    std::unordered_map<std::string_view, Op> out;
    for (int i = static_cast<int>(Op::add); i <= static_cast<int>(last_op); ++i)
      if (const Op op = static_cast<Op>(i); op != Op::cast) out.emplace(name_of(op), op);
    return out;
  }();
  const auto found = by_name.find(name);
  return found == by_name.end() ? std::nullopt : std::optional(found->second);
}

std::optional<ReduceOp> reduce_op_named(std::string_view name) {
  for (int i = 0; i <= static_cast<int>(ReduceOp::all); ++i)
    if (name == name_of(static_cast<ReduceOp>(i))) return static_cast<ReduceOp>(i);
  return std::nullopt;
}

size_t operand_count(Op op) {
  if (op == Op::constant || op == Op::var) return 0;
  if (op == Op::select) return 3;
  if (op == Op::philox) return 4;
  return op >= Op::add && op <= Op::logical_or ? 2 : 1;
}

bool takes(Op op, DType type) {
  if (compute_type(type) != type) return false;
  switch (operands_of(op)) {
    case OperandTypes::any: return true;
    case OperandTypes::floating: return is_floating(type);
    case OperandTypes::integer: return !is_floating(type);
    case OperandTypes::boolean: return type == DType::boolean;
    case OperandTypes::wide: return type == DType::i64;
  }
  return false;
}

std::string_view types_taken(Op op) {
  switch (operands_of(op)) {
    case OperandTypes::any: return "f64, f32, i64, i32 or bool";
    case OperandTypes::floating: return "f64 or f32";
    case OperandTypes::integer: return "i64, i32 or bool";
    case OperandTypes::boolean: return "bool";
    case OperandTypes::wide: return "i64";
  }
  return "";
}

bool takes(ReduceOp op, DType type) {
  return compute_type(type) == type &&
         ((op != ReduceOp::any && op != ReduceOp::all) || !is_floating(type));
}

DType result_type(Op op, DType operand) { return gives_bool(op) ? DType::boolean : operand; }

std::optional<DType> wanted_by(Op op, size_t i, std::optional<DType> wanted) {
  if (op == Op::philox) return DType::i64;
  if (gives_bool(op) || (op == Op::select && i == 0)) return std::nullopt;
  return wanted;
}

std::optional<size_t> partner_of(Op op, size_t i) {
  if (op == Op::select) return i == 0 ? std::nullopt : std::optional(3 - i);
  return operand_count(op) == 2 ? std::optional(1 - i) : std::nullopt;
}

}  // namespace cleave::loop
