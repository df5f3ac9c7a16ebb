// Systems whose matrix is triangular, or the product of two such.
#include "import/exported/rules.h"

namespace cleave::exported {
namespace {

using V = ValueId;

V turned(Call& c, V x) { return c.op("transpose", {x}, {{"dim0", -2}, {"dim1", -1}}); }

V solved(Call& c, V a, V b, bool upper, bool unitriangular = false) {
  return c.op("linalg_solve_triangular", {a, b},
              {{"upper", upper}, {"unitriangular", unitriangular}});
}

Values triangular_solve(Call& c) {
  const V a = c.tensor("A");
  const bool upper = c.flag("upper", true), is_turned = c.flag("transpose", false);
  const V x = solved(c, is_turned ? turned(c, a) : a, c.tensor("self"), upper != is_turned,
                     c.flag("unitriangular", false));
  return {x, a};
}

// Of L L^T, or with `upper` of L^T L. Solved by one triangle; the gradient is that of the product,
// to both, as PyTorch has it: X = X0 + S(dB - dA X0), whose last term is 0.
V solved_twice(Call& c, V l, V b) {
  const bool upper = c.flag("upper", false);
  const V first = upper ? turned(c, l) : l, last = upper ? l : turned(c, l);
  const auto both = [&](V v) { return solved(c, last, solved(c, first, v, false), true); };
  const auto change = [&](V v) { return c.op("sub", {v, c.op("detach", {v})}); };
  const V x = both(b), a = matmul(c, first, last);
  const V rest = c.op("sub", {change(b), matmul(c, change(a), x)});
  return c.op("add", {c.op("detach", {x}), both(rest)});
}

Values cholesky_solve(Call& c) { return {solved_twice(c, c.tensor("input2"), c.tensor("self"))}; }

Values cholesky_inverse(Call& c) {
  const V l = c.tensor("self"), k = c.op("arange", {}, {{"end", c.size(l, -1)}});
  const V eye = c.op("eq", {c.op("unsqueeze", {k}, {{"dim", 1}}), k});
  return {solved_twice(c, l, c.to(eye, c.type(l).dtype))};
}

}  // namespace

std::span<const RuleRow> solve_rules() {
  static constexpr RuleRow rows[] = {
      {"triangular_solve", triangular_solve},
      {"cholesky_solve", cholesky_solve},
      {"cholesky_inverse", cholesky_inverse},
  };
  return rows;
}

}  // namespace cleave::exported
