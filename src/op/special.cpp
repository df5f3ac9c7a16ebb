#include "op/special.h"

#include "op/pointwise_lower.h"
#include "op/special_series.h"

namespace cleave {

loop::LowerPtr lower_special(
    std::function<loop::Expr(loop::KernelBuilder&, const OpView&, const loop::Expr& x)> f) {
  return loop::broadcasting(
      [f](loop::KernelBuilder& k, const OpView& op, const loop::Exprs& index) -> loop::Exprs {
        const DType t = op.out_type(0).dtype;
        const loop::Expr x = loop::load_as(k, op, 0, index, t);
        const loop::Expr y = f(k, op, k.let(cast(x, DType::f64), "x"));
        return {cast(y, t == DType::f64 ? DType::f64 : DType::f32)};
      });
}

OpDef special_entry(const SpecialRow& row) {
  OpDef op =
      float_entry({row.name, row.summary, row.value, nullptr, row.flops, row.grad, row.lo, row.hi});
  op.lower = lower_special([f = row.lower](loop::KernelBuilder& k, const OpView&,
                                           const loop::Expr& x) { return f(k, x); });
  return op;
}

namespace special {

Expr chebyshev(loop::KernelBuilder& k, const Expr& t, std::span<const double> terms) {
  const Expr twice = k.let(t * number(2), "t");
  Expr last = number(0), sum = number(terms.back());
  for (size_t n = terms.size() - 1; n-- > 1;) {
    const Expr next = k.let(twice * sum - last + number(terms[n]), "s");
    last = sum;
    sum = next;
  }
  return k.let(t * sum - last + number(terms[0]), "s");
}

Expr polynomial(loop::KernelBuilder& k, const Expr& x, std::span<const double> factors) {
  Expr y = number(factors[0]);
  for (const double factor : factors.subspan(1)) y = y * x + number(factor);
  return k.let(y, "p");
}

Expr scaled_erfc(loop::KernelBuilder& k, const Expr& z) {
  constexpr double middle = 3.75;
  const Expr t = k.let(number(1) - number(2 * middle) / (z + number(middle)), "t");
  return chebyshev(k, t, erfcx_series) / (z * number(2) + number(1));
}

// In two factors: the square of z rounded to f32 is exact.
Expr exp_of_square(loop::KernelBuilder& k, const Expr& z, int sign) {
  const Expr near = k.let(cast(cast(z, DType::f32), DType::f64), "near");
  const Expr s = number(sign);
  return unary(loop::Op::exp, s * near * near) * unary(loop::Op::exp, s * (z - near) * (z + near));
}

Expr erfc(loop::KernelBuilder& k, const Expr& x) {
  const Expr size = unary(loop::Op::abs, x);
  const Expr z = k.let(select(is_below(number(40), size), number(40), size), "z");
  const Expr y = k.let(exp_of_square(k, z, -1) * scaled_erfc(k, z), "y");
  return select(is_below(x, number(0)), number(2) - y, y);
}

}  // namespace special
}  // namespace cleave
