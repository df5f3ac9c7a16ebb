// Scalar expressions of the loop IR: immutable, typed; equal ones are one node (expr_table.h).
//
//   load(0, DType::f32, i * Expr(8) + j) + constant(DType::f32, 1)        %x[i*8 + j] + 1.0
#pragma once
#include <array>
#include <atomic>
#include <bit>
#include <compare>
#include <concepts>
#include <string>
#include <utility>
#include <vector>

#include "loop/op.h"

namespace cleave::loop {

class ExprNode;

// A node, held as long as an Expr refers to it. Any number of threads may hold it.
class Expr {
 public:
  Expr() = default;
  Expr(int64_t v);  // an i64 constant, for indices
  Expr(int v) : Expr(int64_t{v}) {}
  Expr(const Expr& e) : node_(e.node_) { hold(); }
  Expr(Expr&& e) noexcept : node_(std::exchange(e.node_, nullptr)) {}
  Expr& operator=(Expr e) noexcept {
    std::swap(node_, e.node_);
    return *this;
  }
  ~Expr() { drop(); }

  const ExprNode* operator->() const { return node_; }
  const ExprNode& operator*() const { return *node_; }
  bool defined() const { return node_ != nullptr; }
  DType type() const;
  // The value of an i64 or i32 constant.
  const int64_t* as_const_int() const;
  // Whether they are equal: of the same operations, operands and constants, bit by bit.
  friend bool operator==(const Expr& a, const Expr& b) { return a.node_ == b.node_; }
  // Some order, another one in each run: for keys alone.
  friend auto operator<=>(const Expr& a, const Expr& b) {
    return std::compare_three_way()(a.node_, b.node_);
  }

 private:
  friend class ExprNode;
  friend struct std::hash<Expr>;
  void hold() const;
  void drop() const;

  const ExprNode* node_ = nullptr;
};
using Exprs = std::vector<Expr>;

// The operands of an operation, in place.
class Operands {
 public:
  Operands() = default;
  template <std::same_as<Expr>... E>
  explicit Operands(E... e) : size_(sizeof...(E)), at_{std::move(e)...} {}

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const Expr& operator[](size_t k) const { return at_[k]; }
  Expr& operator[](size_t k) { return at_[k]; }
  const Expr* begin() const { return at_.data(); }
  const Expr* end() const { return begin() + size_; }
  Expr* begin() { return at_.data(); }
  Expr* end() { return begin() + size_; }
  void push_back(Expr e) { at_.at(size_++) = std::move(e); }
  friend bool operator==(const Operands&, const Operands&) = default;

 private:
  size_t size_ = 0;
  std::array<Expr, 4> at_ = {};
};

// An operation, its type and operands, and what it says beside them: asking for what another
// operation says is a Bug.
class ExprNode {
 public:
  const Op op;
  const DType type;
  // Of the expression, written out: parts count as often as they are read, to 65,536 at most.
  const uint32_t operations;
  const bool reads_memory;  // so that it must not be evaluated unless it is reached
  const Operands args;

  double real() const { return std::bit_cast<double>(own(Op::constant, is_floating(type))); }
  int64_t integer() const { return own(Op::constant, !is_floating(type)); }  // or bool: 0, 1
  // A variable's number (those of a kernel's scalars count down from -1), and its name in texts.
  int64_t id() const { return own(Op::var); }
  const std::string& name() const { return own(Op::var), name_; }
  // Of a load, in Kernel::buffers.
  int64_t buffer() const { return own(Op::load); }
  // What a round_to rounds to.
  DType stored() const { return static_cast<DType>(own(Op::round_to)); }

  // An operation as it is written: nothing is folded, and no type is looked at. `own` are the bits
  // of what the accessors above give.
  static Expr make(Op op, DType type, Operands args, int64_t own = 0, std::string name = {});
  // The same operation of other operands; nothing is folded.
  Expr with(Operands other) const { return make(op, type, std::move(other), own_, name_); }
  // Whether both are one operation, of whatever operands.
  bool is_same_operation(const ExprNode& b) const;

 private:
  friend class Expr;
  friend class ExprTable;
  ExprNode(Op op, DType type, Operands args, int64_t own, std::string name);
  int64_t own(Op of, bool is_right = true) const {
    if (op != of || !is_right) misread(of);
    return own_;
  }
  [[noreturn]] void misread(Op as) const;
  void end() const;  // nobody holds it

  mutable std::atomic<uint32_t> holders_ = 1;
  const int64_t own_;
  const std::string name_;
};

inline void Expr::hold() const {
  if (node_) node_->holders_.fetch_add(1, std::memory_order_relaxed);
}
inline void Expr::drop() const {
  if (node_ && node_->holders_.fetch_sub(1, std::memory_order_acq_rel) == 1) node_->end();
}
inline DType Expr::type() const { return node_->type; }

// Leaves. The value of `constant` is converted to the type.
Expr constant(DType type, double value);
Expr constant_int(DType type, int64_t value);
Expr make_var(int64_t id, std::string name, DType type);
// One element of a kernel buffer at a linear index; `type` is compute_type of its dtype.
Expr load(int64_t buffer, DType stored, Expr index);

// Calls. Operands of one type are required (unify with cast first); simple integer identities
// (x+0, x*1, x*0, constants) are folded, so that index arithmetic stays short.
Expr unary(Op op, Expr x);
Expr binary(Op op, Expr a, Expr b);
Expr select(Expr condition, Expr a, Expr b);
// x in another arithmetic type; x itself when it has it. float to int truncates; to bool is x != 0.
Expr cast(Expr x, DType type);
// x rounded to the nearest value that the stored dtype holds, in its compute type (f32 stays).
Expr round_to_stored(Expr x, DType stored);
Expr philox(Expr seed, Expr step, Expr stream, Expr index);

inline Expr operator+(const Expr& a, const Expr& b) { return binary(Op::add, a, b); }
inline Expr operator-(const Expr& a, const Expr& b) { return binary(Op::sub, a, b); }
inline Expr operator*(const Expr& a, const Expr& b) { return binary(Op::mul, a, b); }
inline Expr operator/(const Expr& a, const Expr& b) { return binary(Op::div, a, b); }
inline Expr operator-(const Expr& a) { return unary(Op::neg, a); }

}  // namespace cleave::loop

template <>
struct std::hash<cleave::loop::Expr> {
  size_t operator()(const cleave::loop::Expr& e) const {
    return std::hash<const cleave::loop::ExprNode*>()(e.node_);
  }
};
