// Tests of one operand, of any dtype, with a bool result.
//
//   isnan(self), isinf(self)   false for integers and bool
//   logical_not(self)          self == 0; NaN counts as true
#include <cmath>

#include "op/unary.h"

namespace cleave {
namespace {

bool is_nan(double x) { return std::isnan(x); }
bool is_inf(double x) { return std::isinf(x); }
bool is_zero(double x) { return x == 0; }
bool never(int64_t) { return false; }
bool is_zero_of(int64_t x) { return x == 0; }

// Floating tests; integers are never NaN nor infinite.
template <loop::Op op>
loop::Expr lower_test(const loop::Expr& x) {
  return is_floating(x.type()) ? loop::unary(op, x) : loop::constant_int(DType::boolean, 0);
}
loop::Expr lower_not(const loop::Expr& x) {
  return loop::unary(loop::Op::logical_not, loop::cast(x, DType::boolean));
}

}  // namespace

CLEAVE_OPS(predicate) {
  using loop::Op;
  return {
      predicate_entry({"isnan", "whether x is NaN", is_nan, never, lower_test<Op::isnan>}),
      predicate_entry({"isinf", "whether x is an infinity", is_inf, never, lower_test<Op::isinf>}),
      predicate_entry({"logical_not", "whether x is zero", is_zero, is_zero_of, lower_not}),
  };
}

}  // namespace cleave
