// Rows for special functions of one operand: y = f(x) elementwise, in f64 whatever the dtype,
// rounded once. So f32 results are those of f64, and f64 results are within some units of its last
// place where the function isn't near a zero.
#pragma once
#include <span>

#include "op/unary.h"

namespace cleave {

// The function of x, an f64 expression, with what is read more than once as variables.
using LowerSpecial = loop::Expr (*)(loop::KernelBuilder& k, const loop::Expr& x);

struct SpecialRow {
  const char* name;
  const char* summary;
  double (*value)(double);  // of the reference
  LowerSpecial lower;
  int flops;
  UnaryGrad grad;
  double lo, hi;  // range of samples
};
OpDef special_entry(const SpecialRow& row);
// The lowering of an elementwise call in f64, whose operand 0 is x.
loop::LowerPtr lower_special(
    std::function<loop::Expr(loop::KernelBuilder&, const OpView&, const loop::Expr& x)> f);

namespace special {

using loop::Expr;

inline Expr number(double v) { return loop::constant(DType::f64, v); }
inline Expr is_below(const Expr& a, const Expr& b) { return loop::binary(loop::Op::lt, a, b); }
inline Expr is_equal(const Expr& a, const Expr& b) { return loop::binary(loop::Op::eq, a, b); }

// The sum of a Chebyshev series at t in [-1, 1], by Clenshaw's rule.
Expr chebyshev(loop::KernelBuilder& k, const Expr& t, std::span<const double> terms);
// A polynomial, the highest power's factor first.
Expr polynomial(loop::KernelBuilder& k, const Expr& x, std::span<const double> factors);

// exp(z^2) erfc(z) for z >= 0.
Expr scaled_erfc(loop::KernelBuilder& k, const Expr& z);
// exp(sign * z^2) for |z| <= 40, accurate where z^2 is large.
Expr exp_of_square(loop::KernelBuilder& k, const Expr& z, int sign);
Expr erfc(loop::KernelBuilder& k, const Expr& x);

}  // namespace special
}  // namespace cleave
