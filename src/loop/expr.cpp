// Scalar expressions: construction and the folding that keeps index arithmetic short.
#include "loop/expr.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/result.h"
#include "ir/array.h"
#include "loop/expr_table.h"

namespace cleave::loop {

namespace {

uint32_t operations_of(const Operands& args) {
  constexpr uint32_t most = 1 << 16;
  uint32_t out = 1;
  for (const Expr& a : args) out = std::min(out + a->operations, most);
  return out;
}

}  // namespace

ExprNode::ExprNode(Op o, DType t, Operands a, int64_t own, std::string name)
    : op(o), type(t), operations(operations_of(a)),
      reads_memory(o == Op::load ||
                   std::ranges::any_of(a, [](const Expr& e) { return e->reads_memory; })),
      args(std::move(a)), own_(own), name_(std::move(name)) {}

Expr ExprNode::make(Op op, DType type, Operands args, int64_t own, std::string name) {
  Expr out;
  out.node_ = ExprTable::all().find_or_make(op, type, std::move(args), own, std::move(name));
  return out;
}

void ExprNode::end() const {
  ExprTable::all().remove(this);
  delete this;
}

bool ExprNode::is_same_operation(const ExprNode& b) const {
  return op == b.op && type == b.type && own_ == b.own_ && name_ == b.name_;
}

void ExprNode::misread(Op as) const {
  throw_failure(bug("loop: {} of {} is read as {}", loop::name_of(op), cleave::name_of(type),
                    loop::name_of(as)));
}

namespace {

Expr real_constant(DType type, double value) {
  if (type == DType::f32) value = static_cast<float>(value);
  if (std::isnan(value)) value = std::numeric_limits<double>::quiet_NaN();  // has no sign in texts
  return ExprNode::make(Op::constant, type, Operands(), std::bit_cast<int64_t>(value));
}

bool is_compare(Op op) { return op >= Op::eq && op <= Op::ge; }

[[noreturn]] void ill_typed(Op op, DType a, DType b) {
  throw_failure(bug("loop: {}({}, {}): operands of one type expected; cast one of them",
                    name_of(op), cleave::name_of(a), cleave::name_of(b)));
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

const int64_t* Expr::as_const_int() const {
  return node_->op == Op::constant && (node_->type == DType::i64 || node_->type == DType::i32)
             ? &node_->own_
             : nullptr;
}

Expr constant(DType type, double value) {
  if (is_floating(type)) return real_constant(type, value);
  return ExprNode::make(Op::constant, type, {},
                        type == DType::boolean ? value != 0 : truncate_to(type, value));
}

Expr constant_int(DType type, int64_t value) {
  if (is_floating(type)) return real_constant(type, static_cast<double>(value));
  return ExprNode::make(Op::constant, type, Operands(), wrap_to(type, value));
}

Expr make_var(int64_t id, std::string name, DType type) {
  return ExprNode::make(Op::var, type, Operands(), id, std::move(name));
}

Expr load(int64_t buffer, DType stored, Expr index) {
  return ExprNode::make(Op::load, compute_type(stored), Operands(std::move(index)), buffer);
}

Expr unary(Op op, Expr x) {
  const bool to_bool = op == Op::isnan || op == Op::isinf || op == Op::logical_not;
  const DType type = to_bool ? DType::boolean : x.type();
  return ExprNode::make(op, type, Operands(std::move(x)));
}

Expr binary(Op op, Expr a, Expr b) {
  if (a.type() != b.type()) ill_typed(op, a.type(), b.type());
  if (a.type() == DType::i64)
    if (Expr folded = fold_index(op, a, b); folded.defined()) return folded;
  const DType type = is_compare(op) ? DType::boolean : a.type();
  return ExprNode::make(op, type, Operands(std::move(a), std::move(b)));
}

Expr select(Expr condition, Expr a, Expr b) {
  if (condition.type() != DType::boolean) ill_typed(Op::select, condition.type(), DType::boolean);
  if (a.type() != b.type()) ill_typed(Op::select, a.type(), b.type());
  const DType type = a.type();
  return ExprNode::make(Op::select, type,
                        Operands(std::move(condition), std::move(a), std::move(b)));
}

Expr cast(Expr x, DType type) {
  if (x.type() == type) return x;
  if (x->op == Op::constant) {
    if (is_floating(x.type())) return constant(type, x->real());
    return constant_int(type, type == DType::boolean ? x->integer() != 0 : x->integer());
  }
  return ExprNode::make(Op::cast, type, Operands(std::move(x)));
}

Expr round_to_stored(Expr x, DType stored) {
  const DType type = compute_type(stored);
  if (type == stored) return cast(std::move(x), stored);
  return ExprNode::make(Op::round_to, type, Operands(cast(std::move(x), type)),
                        static_cast<int64_t>(stored));
}

Expr philox(Expr seed, Expr step, Expr stream, Expr index) {
  return ExprNode::make(
      Op::philox, DType::i64,
      Operands(std::move(seed), std::move(step), std::move(stream), std::move(index)));
}

}  // namespace cleave::loop
