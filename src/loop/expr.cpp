// Scalar expressions: construction and the folding that keeps index arithmetic short.
#include "loop/expr.h"

#include <cmath>

#include "base/result.h"
#include "ir/array.h"

namespace cleave::loop {

std::string_view name_of(Op op) {
  constexpr std::string_view names[] = {
      "constant",   "var",      "load",    "add",    "sub",         "mul",      "div",
      "min",        "max",      "pow",     "fmod",   "atan2",       "truncdiv", "truncmod",
      "floordiv",   "floormod", "bit_and", "bit_or", "bit_xor",     "shl",      "shr",
      "eq",         "ne",       "lt",      "le",     "gt",          "ge",       "logical_and",
      "logical_or", "neg",      "abs",     "sign",   "logical_not", "bit_not",  "exp",
      "exp2",       "expm1",    "log",     "log2",   "log10",       "log1p",    "sqrt",
      "rsqrt",      "sin",      "cos",     "tan",    "asin",        "acos",     "atan",
      "sinh",       "cosh",     "tanh",    "asinh",  "acosh",       "atanh",    "erf",
      "sigmoid",    "floor",    "ceil",    "trunc",  "round",       "isnan",    "isinf",
      "select",     "cast",     "philox"};
  return names[static_cast<int>(op)];
}

namespace {

Expr make(ExprNode n) { return Expr(std::make_shared<const ExprNode>(std::move(n))); }

bool is_compare(Op op) { return op >= Op::eq && op <= Op::ge; }

[[noreturn]] void ill_typed(Op op, DType a, DType b) {
  throw_bug("loop: {}({}, {}): operands of one type expected; cast one of them", name_of(op),
            cleave::name_of(a), cleave::name_of(b));
}

// i64 index arithmetic on constants; nullptr-like undefined Expr where nothing folds.
Expr fold_index(Op op, const Expr& a, const Expr& b) {
  const int64_t *x = a.as_const_int(), *y = b.as_const_int();
  if (x && y) switch (op) {
      case Op::add: return Expr(*x + *y);
      case Op::sub: return Expr(*x - *y);
      case Op::mul: return Expr(*x * *y);
      default: return Expr();
    }
  if (op == Op::add && x && *x == 0) return b;
  if ((op == Op::add || op == Op::sub) && y && *y == 0) return a;
  if (op == Op::mul && ((x && *x == 0) || (y && *y == 0))) return Expr(0);
  if (op == Op::mul && x && *x == 1) return b;
  if (op == Op::mul && y && *y == 1) return a;
  if (op == Op::floordiv && y && *y == 1) return a;
  if (op == Op::floormod && y && *y == 1) return Expr(0);
  return Expr();
}

}  // namespace

Expr::Expr(int64_t v) : Expr(constant_int(DType::i64, v)) {}

DType Expr::type() const { return node_->type; }

const int64_t* Expr::as_const_int() const {
  return node_->op == Op::constant && (node_->type == DType::i64 || node_->type == DType::i32)
             ? &node_->i
             : nullptr;
}

Expr constant(DType type, double value) {
  ExprNode n{.op = Op::constant, .type = type};
  if (is_floating(type))
    n.f = type == DType::f32 ? static_cast<float>(value) : value;
  else
    n.i = type == DType::boolean ? value != 0 : truncate_to(type, value);
  return make(n);
}

Expr constant_int(DType type, int64_t value) {
  ExprNode n{.op = Op::constant, .type = type};
  if (is_floating(type))
    n.f = type == DType::f32 ? static_cast<float>(value) : static_cast<double>(value);
  else
    n.i = wrap_to(type, value);
  return make(n);
}

Expr make_var(int64_t id, std::string name, DType type) {
  ExprNode n{.op = Op::var, .type = type};
  n.i = id;
  n.var = std::move(name);
  return make(n);
}

Expr load(int64_t buffer, DType stored, Expr index) {
  ExprNode n{.op = Op::load, .type = compute_type(stored)};
  n.i = buffer;
  n.args = {std::move(index)};
  return make(n);
}

Expr unary(Op op, Expr x) {
  const bool to_bool = op == Op::isnan || op == Op::isinf || op == Op::logical_not;
  ExprNode n{.op = op, .type = to_bool ? DType::boolean : x.type()};
  n.args = {std::move(x)};
  return make(n);
}

Expr binary(Op op, Expr a, Expr b) {
  if (a.type() != b.type()) ill_typed(op, a.type(), b.type());
  if (a.type() == DType::i64)
    if (Expr folded = fold_index(op, a, b); folded.defined()) return folded;
  ExprNode n{.op = op, .type = is_compare(op) ? DType::boolean : a.type()};
  n.args = {std::move(a), std::move(b)};
  return make(n);
}

Expr select(Expr condition, Expr a, Expr b) {
  if (condition.type() != DType::boolean) ill_typed(Op::select, condition.type(), DType::boolean);
  if (a.type() != b.type()) ill_typed(Op::select, a.type(), b.type());
  ExprNode n{.op = Op::select, .type = a.type()};
  n.args = {std::move(condition), std::move(a), std::move(b)};
  return make(n);
}

Expr cast(Expr x, DType type) {
  if (x.type() == type) return x;
  if (x->op == Op::constant) {
    if (is_floating(x.type())) return constant(type, x->f);
    return constant_int(type, type == DType::boolean ? x->i != 0 : x->i);
  }
  ExprNode n{.op = Op::cast, .type = type};
  n.args = {std::move(x)};
  return make(n);
}

Expr round_to_stored(Expr x, DType stored) {
  if (compute_type(stored) == stored) return cast(std::move(x), stored);
  // A cast whose `i` names the narrower dtype: rounded (or wrapped) there, held in the compute
  // type.
  ExprNode n{.op = Op::cast, .type = compute_type(stored)};
  n.i = 1 + static_cast<int64_t>(stored);
  n.args = {cast(std::move(x), compute_type(stored))};
  return make(n);
}

Expr philox(Expr seed, Expr step, Expr stream, Expr index) {
  ExprNode n{.op = Op::philox, .type = DType::i64};
  n.args = {std::move(seed), std::move(step), std::move(stream), std::move(index)};
  return make(n);
}

}  // namespace cleave::loop
