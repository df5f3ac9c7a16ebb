// Inverses, by a factorization with swapped rows.
//
// linalg_inv_ex(A; check_errors) -> (inverse, info)
//   A [*s,n,n]   inverse [*s,n,n]   info i32[*s]
//
//   (C1) A is f32 or f64  (C2) at least two dims  (C3) square  (C4) check_errors is false
//
// info is that of linalg_lu_factor_ex: where it isn't 0 a 0 divides, and the inverse has infinities
// and NaN.
#include "op/cost.h"
#include "op/dims.h"
#include "op/entry.h"
#include "op/matrices.h"
#include "op/reference_elimination.h"
#include "op/sample_sets.h"

namespace cleave {
namespace {

Result<Types> infer(const OpView& op) {
  CLEAVE_CHECK(check_matrices(op, "C1", "C2", 0));
  CLEAVE_CHECK(check_square(op, "C3", 0));
  CLEAVE_CHECK(check_reports_alone(op, "C4"));
  const Type& a = op.in_type(0);
  return Types{typed_like(a, a.dtype, a.shape), typed_like(a, DType::i32, batch_of(a))};
}

Result<Arrays> reference(const OpView&, std::span<const Array* const> in) {
  Array lu = *in[0], y(lu.dtype, lu.shape),
        info(DType::i32, {lu.shape.begin(), lu.shape.end() - 2});
  const int64_t n = lu.shape.back();
  std::vector<int64_t> pivots(static_cast<size_t>(n));
  for (int64_t k = 0; k < matrices_in(lu); ++k) {
    double *matrix = lu.f.data() + k * n * n, *inverse = y.f.data() + k * n * n;
    for (int64_t i = 0; i < n; ++i) inverse[i * n + i] = 1;
    info.i[k] = eliminate(matrix, pivots.data(), n, n, true);
    solve_eliminated(matrix, pivots.data(), inverse, n, n, false);
  }
  return Arrays{std::move(y), std::move(info)};
}

Values decompose(Builder& b, const OpView& op) {
  const Type& a = op.in_type(0);
  const Values factors = b.call("linalg_lu_factor_ex", {op.in(0)});
  if (factors.empty()) return {};
  const ValueId one = identity(b, a.shape, a.dtype);
  return {b.call1("linalg_lu_solve", {factors[0], factors[1], one}), factors[2]};
}

// dA = -Y^T dY Y^T
Values grad(Builder& b, const GradView& op) {
  if (op.dout(0).is_none()) return op.no_grads();
  const ValueId y = turned(b, op.out(0));
  return {b.neg(product(b, y, product(b, op.dout(0), y)))};
}

Samples samples() {
  return {{{matrices_to_swap(DType::f64, {3, 3})}},
          {{matrices_to_swap(DType::f32, {3, 3})}},
          {{matrices_to_swap(DType::f64, {2, 2, 2, 2})}},
          {{matrices_to_swap(DType::f32, {2, 4, 4})}},
          {{matrices_to_swap(DType::f32, {20, 20})}},
          {{f32({1, 1}).range(1, 2)}},
          {{f64({2, 2, 2}).with({0, 0, 0, 2, NAN, 1, 2, 3})}},  // singular, NaN
          {{f32({0, 0})}},
          {{f32({0, 2, 2})}}};
}

Rejects rejects() {
  const std::string op = "linalg_inv_ex: ";
  return {{"C1", {{f16({2, 2})}}, op + "C1: A is f16[2,2], expected f32 or f64"},
          {"C2", {{f32({2})}}, op + "C2: A is f32[2], expected at least two dims"},
          {"C3", {{f32({2, 3})}}, op + "C3: rows and columns of A: 2 and 3, expected equal"},
          {"C4",
           {{f32({2, 2})}, {{"check_errors", true}}},
           op + "C4: check_errors is true; check info, as by _functional_assert_async"}};
}

Cost cost(const OpView& op) {
  const int64_t n = op.env().hint_of(columns_of(op.in_type(0)));
  return {2 * n * numel_hint(op, op.in_type(0)), bytes_moved(op)};
}

}  // namespace

CLEAVE_OPS(inverse) {
  return {OpDef{
      .name = "linalg_inv_ex",
      .signature = "(Tensor A, *, bool check_errors=False) -> (Tensor, Tensor)",
      .summary = "Inverses of matrices, and which of them are singular.",
      .source = "aten::linalg_inv_ex, PyTorch 2.13",
      .traits = Trait::compute_intensive | Trait::recomputable,
      .infer = infer,
      .reference = reference,
      .decompose = decompose,
      .grad = grad,
      .lower = loop::by_decomposition(),
      .cost = cost,
      .samples = samples,
      .rejects = rejects,
      .nondifferentiable = 0b10,
  }};
}

}  // namespace cleave
