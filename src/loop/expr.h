// Scalar expressions of the loop IR: immutable trees, typed.
//
// Arithmetic happens in five types: f64 f32 i64 i32 bool. bf16 and f16 are loaded as f32 and
// rounded when stored; i16 i8 u8 are loaded as i32 and wrapped when stored (compute_type below).
// Integers wrap; integer division by zero gives 0 (the operators that divide check first where ATen
// does). min and max give NaN when either side is NaN. Comparisons give bool. Logical operators
// take bool.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cleave/dtype.h"

namespace cleave::loop {

enum class Op : uint8_t {
  constant,
  var,
  load,
  // two operands of one type
  add,
  sub,
  mul,
  div,
  min,
  max,
  pow,
  fmod,
  atan2,
  truncdiv,
  truncmod,
  floordiv,
  floormod,  // integers
  bit_and,
  bit_or,
  bit_xor,
  shl,
  shr,  // integers; shr is arithmetic
  eq,
  ne,
  lt,
  le,
  gt,
  ge,  // -> bool
  logical_and,
  logical_or,  // bool
  // one operand
  neg,
  abs,
  sign,
  logical_not,
  bit_not,
  exp,
  exp2,
  expm1,
  log,
  log2,
  log10,
  log1p,
  sqrt,
  rsqrt,
  sin,
  cos,
  tan,
  asin,
  acos,
  atan,
  sinh,
  cosh,
  tanh,
  asinh,
  acosh,
  atanh,
  erf,
  sigmoid,
  floor,
  ceil,
  trunc,
  round /* half to even */,
  isnan,
  isinf,
  // others
  select,  // (condition, then, else)
  cast,    // to `type`
  philox,  // (seed, step, stream, index) i64 -> i64 in [0, 2^32): word index mod 4 of the block
};

std::string_view name_of(Op op);

// The type that arithmetic on a stored dtype happens in.
constexpr DType compute_type(DType t) {
  switch (t) {
    case DType::f64: return DType::f64;
    case DType::f32:
    case DType::bf16:
    case DType::f16: return DType::f32;
    case DType::i64: return DType::i64;
    case DType::i32:
    case DType::i16:
    case DType::i8:
    case DType::u8: return DType::i32;
    case DType::boolean: return DType::boolean;
    case DType::c64: return DType::f32;
  }
  return DType::f32;
}

struct ExprNode;

class Expr {
 public:
  Expr() = default;
  explicit Expr(std::shared_ptr<const ExprNode> node) : node_(std::move(node)) {}
  Expr(int64_t v);  // an i64 constant, for indices
  Expr(int v) : Expr(int64_t{v}) {}
  const ExprNode* operator->() const { return node_.get(); }
  const ExprNode& operator*() const { return *node_; }
  bool defined() const { return node_ != nullptr; }
  DType type() const;
  // The value of an i64 or i32 constant.
  const int64_t* as_const_int() const;

 private:
  std::shared_ptr<const ExprNode> node_;
};

struct ExprNode {
  Op op = Op::constant;
  DType type = DType::i64;
  double f = 0;          // floating constant
  int64_t i = 0;         // integer or bool constant; variable id; buffer number of a load
  std::string var = {};  // name of a variable, for the text
  std::vector<Expr> args = {};
};

using Exprs = std::vector<Expr>;

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
