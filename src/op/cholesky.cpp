// The Cholesky factor of symmetric matrices that are positive definite.
//
// linalg_cholesky_ex(self; upper, check_errors) -> (L, info)     self = L L^T, or L^T L if upper
//   self [*s,n,n]   L [*s,n,n]   info i32[*s]
//
//   (C1) self is f32 or f64  (C2) at least two dims  (C3) square  (C4) check_errors is false
//
//   L[i,j] = (self[i,j] - sum over m < j of L[i,m] L[j,m]) / L[j,j]    rows from the first one on
//   L[j,j] = sqrt(d), d = self[j,j] - sum over m < j of L[j,m]^2
//
// The lower triangle is read, or with `upper` the upper one, which then is that of L. Sums are kept
// in f64. Where d isn't above 0, or is NaN, the leading j + 1 rows and columns aren't positive
// definite: info is j + 1, L[j,j] is d, and the columns from j on (with `upper` the rows) are what
// self has there, as LAPACK's potf2 leaves them. Otherwise info is 0.
//
// The gradient is that of a symmetric matrix, as PyTorch's: elements [i,j] and [j,i] of self get
// equal parts.
#include <cmath>

#include "op/cost.h"
#include "op/dims.h"
#include "op/entry.h"
#include "op/matrices.h"
#include "op/reference_sum.h"
#include "op/sample_sets.h"

namespace cleave {
namespace {

using loop::Expr;
using loop::Exprs;
using loop::Op;

Result<Types> infer(const OpView& op) {
  CLEAVE_CHECK(check_matrices(op, "C1", "C2", 0));
  CLEAVE_CHECK(check_square(op, "C3", 0));
  CLEAVE_CHECK(check_reports_alone(op, "C4"));
  const Type& a = op.in_type(0);
  return Types{typed_like(a, a.dtype, a.shape), typed_like(a, DType::i32, batch_of(a))};
}

// Of one matrix; gives info.
int64_t factored(const double* a, double* l, int64_t n, bool upper) {
  const auto at = [&](int64_t i, int64_t j) { return upper ? j * n + i : i * n + j; };
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j <= i; ++j) l[at(i, j)] = a[at(i, j)];
  for (int64_t j = 0; j < n; ++j) {
    ReferenceSum left(a[at(j, j)]);
    for (int64_t m = 0; m < j; ++m) left -= l[at(j, m)] * l[at(j, m)];
    if (!(left > 0)) {
      l[at(j, j)] = left;
      return j + 1;
    }
    l[at(j, j)] = std::sqrt(left);
    for (int64_t i = j + 1; i < n; ++i) {
      ReferenceSum sum(a[at(i, j)]);
      for (int64_t m = 0; m < j; ++m) sum -= l[at(i, m)] * l[at(j, m)];
      l[at(i, j)] = sum / l[at(j, j)];
    }
  }
  return 0;
}

Result<Arrays> reference(const OpView& op, std::span<const Array* const> in) {
  const Array& a = *in[0];
  Array l(a.dtype, a.shape), info(DType::i32, {a.shape.begin(), a.shape.end() - 2});
  const int64_t n = a.shape.back();
  for (int64_t b = 0; b < matrices_in(a); ++b)
    info.i[b] = factored(a.f.data() + b * n * n, l.f.data() + b * n * n, n, op.bool_attr("upper"));
  return Arrays{std::move(l), std::move(info)};
}

void lower(loop::KernelBuilder& k, const OpView& op) {
  const std::vector<int64_t> shape = static_shape(op.in_type(0));
  const std::vector<int64_t> batch(shape.begin(), shape.end() - 2);
  const bool upper = op.bool_attr("upper");
  const DType own = op.in_type(0).dtype;
  const Expr n = Expr(shape.back()), zero = loop::constant(DType::f64, 0);
  const int factor = k.wanted(0) ? 0 : k.scratch(own, shape);
  for_each_matrix(k, batch, [&](const Exprs& matrix) {
    const auto at = [&](const Expr& i, const Expr& j) {
      return upper ? element(matrix, j, i) : element(matrix, i, j);
    };
    const auto given = [&](const Expr& i, const Expr& j) { return k.load(0, at(i, j)); };
    const auto known = [&](const Expr& i, const Expr& j) {
      return cast(k.load_result(factor, at(i, j)), DType::f64);
    };
    const auto rest = [&](const Expr& i, const Expr& j) {
      return k.let(
          cast(given(i, j), DType::f64) -
              k.reduce_loops(loop::ReduceOp::sum, j, {},
                             [&](const Exprs& m) { return known(i, m[0]) * known(j, m[0]); }),
          "rest");
    };
    const Expr whole = k.define(n, "whole");  // columns before the one that fails
    k.loop(n, [&](const Expr& i) {
      k.loop(i, [&](const Expr& j) {
        k.store(factor, at(i, j), given(i, j));
        k.if_(binary(Op::lt, j, whole),
              [&] { k.store(factor, at(i, j), rest(i, j) / known(j, j)); });
      });
      k.store(factor, at(i, i), given(i, i));
      k.if_(binary(Op::eq, whole, n), [&] {
        const Expr d = rest(i, i);
        const Expr is_positive = k.let(binary(Op::gt, d, zero), "ok");
        k.store(factor, at(i, i), select(is_positive, unary(Op::sqrt, d), d));
        k.assign(whole, select(is_positive, whole, i));
      });
      k.each(n - i - Expr(1), [&](const Expr& j) {
        k.store(factor, at(i, i + j + Expr(1)), loop::constant(own, 0));
      });
    });
    const Expr failed = select(binary(Op::lt, whole, n), whole + Expr(1), Expr(0));
    k.store(1, matrix, cast(failed, DType::i32));
  });
}

// With P the lower triangle of L^T dL, its diagonal halved: dself = L^-T (P + P^T) / 2 L^-1.
Values grad(Builder& b, const GradView& op) {
  if (op.dout(0).is_none()) return op.no_grads();
  const bool upper = op.bool_attr("upper");
  const ValueId l = upper ? turned(b, op.out(0)) : op.out(0);
  const ValueId dl = upper ? turned(b, op.dout(0)) : op.dout(0);
  const ValueId below = lower_part(b, product(b, turned(b, l), lower_part(b, dl)));
  const ValueId both = b.mul(b.add(below, turned(b, lower_part(b, below, -1))), 0.5);
  return {
      solve_triangular(b, l, solve_triangular(b, turned(b, l), both, true, true), false, false)};
}

// Symmetric, and positive definite.
SampleTensor matrix(DType t, std::vector<int64_t> shape, double pivot = 3) {
  const int64_t n = shape.back();
  std::vector<double> values;
  for (int64_t k = 0; k < numel_of(shape); ++k) {
    const int64_t i = k / n % n, j = k % n, batch = k / (n * n);
    const double near =
        static_cast<double>((i + j) * 5 % 7 - 3) / 8 / static_cast<double>(1 + batch);
    values.push_back(i == j ? pivot + static_cast<double>(i % 5) : near);
  }
  return any_of(t, std::move(shape)).with(std::move(values));
}

Samples samples() {
  Samples out;
  for (const DType t : {DType::f64, DType::f32})
    for (const bool upper : {false, true}) {
      out.push_back({{matrix(t, {3, 3})}, {{"upper", upper}}});
      out.push_back({{matrix(t, {2, 2, 4, 4})}, {{"upper", upper}}});
      // one triangle alone is read
      out.push_back({{any_of(t, {2, 2}).with(upper ? std::vector<double>{4, 2, 1, 5}
                                                   : std::vector<double>{4, 1, 2, 5})},
                     {{"upper", upper}}});
      // the second, the first and the third leading minor aren't positive; NaN
      out.push_back({{any_of(t, {4, 3, 3}).with({4,  2, 1, 2, -3,  2, 1, 2, 3,  //
                                                 -1, 2, 1, 2, 3,   2, 1, 2, 3,  //
                                                 4,  2, 1, 2, 3,   2, 1, 2, 1,  //
                                                 4,  2, 1, 2, NAN, 2, 1, 2, 3})},
                     {{"upper", upper}}});
    }
  out.insert(out.end(), {{{matrix(DType::f32, {24, 24}, 9)}},
                         {{matrix(DType::f64, {20, 20}, 9)}, {{"upper", true}}},
                         {{matrix(DType::f32, {1, 1})}},
                         {{f32({3, 0, 0})}},
                         {{f32({0, 2, 2})}}});
  return out;
}

Rejects rejects() {
  const std::string op = "linalg_cholesky_ex: ";
  return {{"C1", {{f16({2, 2})}}, op + "C1: self is f16[2,2], expected f32 or f64"},
          {"C2", {{f32({2})}}, op + "C2: self is f32[2], expected at least two dims"},
          {"C3", {{f32({2, 3})}}, op + "C3: rows and columns of self: 2 and 3, expected equal"},
          {"C4",
           {{f32({2, 2})}, {{"check_errors", true}}},
           op + "C4: check_errors is true; check info, as by _functional_assert_async"}};
}

Cost cost(const OpView& op) {
  const int64_t n = op.env().hint_of(columns_of(op.in_type(0)));
  return {n * numel_hint(op, op.in_type(0)) / 3, bytes_moved(op)};
}

}  // namespace

CLEAVE_OPS(cholesky) {
  return {OpDef{
      .name = "linalg_cholesky_ex",
      .signature =
          "(Tensor self, *, bool upper=False, bool check_errors=False) -> (Tensor, Tensor)",
      .summary = "The Cholesky factor of symmetric matrices, and which of them aren't positive "
                 "definite.",
      .source = "aten::linalg_cholesky_ex, PyTorch 2.13",
      .traits = Trait::compute_intensive | Trait::recomputable | Trait::symmetric,
      .infer = infer,
      .reference = reference,
      .decompose = Absent{"a primitive: each column reads those before it"},
      .grad = grad,
      .lower = loop::kernel(lower),
      .cost = cost,
      .samples = samples,
      .rejects = rejects,
      .nondifferentiable = 0b10,
  }};
}

}  // namespace cleave
