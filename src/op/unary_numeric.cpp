// Operators of one operand that keep its dtype.
//
//   f(self) -> y
//   self  [*s]   (C1) floating or integer
//   y     [*s]   dtype of self; integers wrap
//
// ceil, floor and trunc leave integers unchanged. NaN stays NaN; sign(NaN) is 0 as in PyTorch.
#include <cmath>

#include "op/pointwise_reference.h"
#include "op/unary.h"

namespace cleave {
namespace {

using V = ValueId;
using loop::Op;

double sign(double x) { return (x > 0) - (x < 0); }
int64_t sign_of(int64_t x) { return (x > 0) - (x < 0); }
double negative(double x) { return -x; }
int64_t negative_of(int64_t x) { return wrapping_sub(0, x); }
int64_t abs_of(int64_t x) { return x < 0 ? wrapping_sub(0, x) : x; }
double relu(double x) { return x < 0 ? 0 : x; }
int64_t relu_of(int64_t x) { return x < 0 ? 0 : x; }

loop::Expr zero_like(const loop::Expr& x) { return loop::cast(loop::Expr(0), x.type()); }
loop::Expr lower_relu(const loop::Expr& x) { return loop::binary(Op::max, x, zero_like(x)); }

V grad_abs(Builder& b, const GradView& op, V g) { return b.mul(g, b.sign(op.in(0))); }
V grad_neg(Builder& b, const GradView&, V g) { return b.neg(g); }
V grad_relu(Builder& b, const GradView& op, V g) {
  // A select by a separate bool, which takes less memory to save than y.
  return b.where(b.le(op.out(0), 0), 0.0, g);
}

}  // namespace

CLEAVE_OPS(unary_numeric) {
  const NumericRow rows[] = {
      {"abs", "absolute value; the slope at 0 is 0", std::fabs, abs_of, lower_to<Op::abs>,
       grad_abs},
      {"ceil", "least integer >= x", std::ceil, nullptr, lower_to<Op::ceil>, nullptr},
      {"floor", "greatest integer <= x", std::floor, nullptr, lower_to<Op::floor>, nullptr},
      {"neg", "-x", negative, negative_of, lower_to<Op::neg>, grad_neg},
      {"relu", "max(x, 0); the slope at 0 is 0", relu, relu_of, lower_relu, grad_relu},
      {"sign", "-1, 0 or 1", sign, sign_of, lower_to<Op::sign>, nullptr},
      {"trunc", "x without its fraction", std::trunc, nullptr, lower_to<Op::trunc>, nullptr},
  };
  std::vector<OpDef> ops;
  for (const NumericRow& row : rows) ops.push_back(numeric_entry(row));
  return ops;
}

}  // namespace cleave
