// The operations of scalar expressions.
//
// Arithmetic happens in five types: f64 f32 i64 i32 bool. bf16 and f16 are loaded as f32 and
// rounded when stored; i16 i8 u8 are loaded as i32 and wrapped when stored (compute_type below).
// Integers wrap; integer division by zero gives 0 (the operators that divide check first where ATen
// does). min and max give NaN when either side is NaN. Comparisons give bool. Logical operators
// take bool.
#pragma once
#include <cstdint>
#include <string_view>

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
  select,    // (condition, then, else)
  cast,      // to `type`
  philox,    // (seed, step, stream, index) i64 -> i64 in [0, 2^32): word index mod 4 of the block
  round_to,  // to the nearest value of a narrower dtype (wrapped to it), in the compute type
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

}  // namespace cleave::loop
