// Determinants, by a factorization with swapped rows.
//
// _linalg_det(A) -> (result, LU, pivots)
// _linalg_slogdet(A) -> (sign, logabsdet, LU, pivots)     det A = sign exp(logabsdet)
//   A [*s,n,n]   result, sign, logabsdet [*s]   LU [*s,n,n], pivots i32[*s,n]: of A^T
//
//   (C1) A is f32 or f64  (C2) at least two dims  (C3) square
//
// The transpose is factored (linalg_lu_factor_ex), as ATen does for A in row-major memory: what is
// made of LU and pivots outside, a joint graph of AOTAutograd's, expects that. A singular matrix
// has result 0, sign 0 and logabsdet -inf; of NaN the sign is 0.
//
// The gradient is result A^-T. Zeros on the diagonal of U are taken for the dtype's smallest step
// there, in A^-T and result both, so that it is right where the rank is n - 1; PyTorch has 0 there.
#include <cmath>
#include <limits>

#include "op/cost.h"
#include "op/dims.h"
#include "op/entry.h"
#include "op/matrices.h"
#include "op/reference_elimination.h"
#include "op/reference_sum.h"
#include "op/sample_sets.h"

namespace cleave {
namespace {

Status check(const OpView& op) {
  CLEAVE_CHECK(check_matrices(op, "C1", "C2", 0));
  return check_square(op, "C3", 0);
}

// So many numbers for each matrix, and the factors.
Types with_factors(const Type& a, int numbers) {
  Types out(static_cast<size_t>(numbers), typed_like(a, a.dtype, batch_of(a)));
  out.push_back(typed_like(a, a.dtype, a.shape));
  out.push_back(typed_like(a, DType::i32, batch_with(a, {rows_of(a)})));
  return out;
}

// The factors of A^T, and the diagonal of U with the sign of the swaps.
struct Factors {
  Array lu, pivots;
  std::vector<double> signed_diagonal;
};

Factors factors_of(const OpView& op, const Array& a) {
  const int last = op.out_count() - 1;
  Factors f{.lu = Array(a.dtype, a.shape),
            .pivots = Array(DType::i32, static_shape(op.out_type(last))),
            .signed_diagonal = {}};
  const int64_t n = a.shape.back();
  for (int64_t k = 0; k < matrices_in(a); ++k) {
    double* lu = f.lu.f.data() + k * n * n;
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j) lu[i * n + j] = a.f[k * n * n + j * n + i];
    int64_t* pivots = f.pivots.i.data() + k * n;
    eliminate(lu, pivots, n, n, true);
    for (int64_t i = 0; i < n; ++i)
      f.signed_diagonal.push_back(pivots[i] == i + 1 ? lu[i * n + i] : -lu[i * n + i]);
  }
  return f;
}

Result<Arrays> reference_det(const OpView& op, std::span<const Array* const> in) {
  Factors f = factors_of(op, *in[0]);
  Array y(in[0]->dtype, static_shape(op.out_type(0)));
  const int64_t n = in[0]->shape.back();
  for (int64_t k = 0; k < y.numel(); ++k) {
    ReferenceProduct all;
    for (int64_t i = 0; i < n; ++i) all *= f.signed_diagonal[k * n + i];
    y.f[k] = all;
  }
  return Arrays{std::move(y), std::move(f.lu), std::move(f.pivots)};
}

Result<Arrays> reference_slogdet(const OpView& op, std::span<const Array* const> in) {
  Factors f = factors_of(op, *in[0]);
  Array sign(in[0]->dtype, static_shape(op.out_type(0))), size = sign;
  const int64_t n = in[0]->shape.back();
  for (int64_t k = 0; k < sign.numel(); ++k) {
    double all = 1;
    ReferenceSum logs;
    for (int64_t i = 0; i < n; ++i) {
      const double u = f.signed_diagonal[k * n + i];
      all *= static_cast<double>((u > 0) - (u < 0));
      logs += std::log(std::fabs(u));
    }
    sign.f[k] = all;
    size.f[k] = logs;
  }
  return Arrays{std::move(sign), std::move(size), std::move(f.lu), std::move(f.pivots)};
}

struct FactorCalls {
  ValueId lu, pivots, diagonal;
};

// Merged with those of other calls of A once they are taken apart.
FactorCalls factor_calls(Builder& b, const OpView& op) {
  const Values f = b.call("linalg_lu_factor_ex", {turned(b, op.in(0))});
  if (f.empty()) return {};
  return {f[0], f[1], b.call1("diagonal", {f[0]}, {{"dim1", -2}, {"dim2", -1}})};
}

// Where a row was swapped, the sign changes.
ValueId with_signs(Builder& b, const FactorCalls& f, ValueId diagonal) {
  const Dim n = b.type(f.lu).shape.back();
  const ValueId place =
      b.call1("arange", {}, {{"start", 1}, {"end", n + Dim(1)}, {"dtype", DType::i32}});
  return b.where(b.ne(f.pivots, place), b.neg(diagonal), diagonal);
}

ValueId product_of(Builder& b, ValueId x) { return b.call1("prod", {x}, {{"dim", -1}}); }

Values decompose_det(Builder& b, const OpView& op) {
  const FactorCalls f = factor_calls(b, op);
  return {product_of(b, with_signs(b, f, f.diagonal)), f.lu, f.pivots};
}

Values decompose_slogdet(Builder& b, const OpView& op) {
  const FactorCalls f = factor_calls(b, op);
  return {product_of(b, b.sign(with_signs(b, f, f.diagonal))),
          b.sum(b.log(b.abs(f.diagonal)), {-1}), f.lu, f.pivots};
}

// A^T X = numbers on the diagonal, one for each matrix.
ValueId solved(Builder& b, ValueId lu, ValueId pivots, ValueId numbers) {
  const Type& t = b.type(lu);
  const ValueId line = b.expand(b.unsqueeze(numbers, -1), batch_with(t, {t.shape.back()}));
  return b.call1("linalg_lu_solve", {lu, pivots, on_diagonal(b, line)});
}

Values grad_det(Builder& b, const GradView& op) {
  if (op.dout(0).is_none()) return op.no_grads();
  const FactorCalls f = factor_calls(b, op);
  const bool is_f64 = op.in_type(0).dtype == DType::f64;
  const double step = is_f64 ? std::numeric_limits<double>::epsilon()
                             : double{std::numeric_limits<float>::epsilon()};
  const ValueId is_zero = b.eq(f.diagonal, 0.0);
  const ValueId added = b.where(is_zero, b.full_like(f.diagonal, step), 0.0);
  const ValueId det = product_of(b, with_signs(b, f, b.add(f.diagonal, added)));
  return {solved(b, b.add(f.lu, on_diagonal(b, added)), f.pivots, b.mul(op.dout(0), det))};
}

Values grad_slogdet(Builder& b, const GradView& op) {
  if (op.dout(1).is_none()) return op.no_grads();
  const FactorCalls f = factor_calls(b, op);
  return {solved(b, f.lu, f.pivots, op.dout(1))};
}

Samples samples(bool logs) {
  Samples out = {{{matrices_to_swap(DType::f64, {3, 3}, 0.5)}},
                 {{matrices_to_swap(DType::f32, {3, 3}, 0.5)}},
                 {{matrices_to_swap(DType::f64, {2, 2, 2, 2}, 0.5)}},
                 {{matrices_to_swap(DType::f32, {3, 4, 4}, 0.5)}},
                 {{matrices_to_swap(DType::f32, {12, 12}, 0.5)}},
                 {{f32({1, 1}).with({-3})}},
                 {{f64({2, 2, 2}).with({1, 2, 2, 4, NAN, 1, 2, 3})}},  // singular, NaN
                 {{f32({2, 0, 0})}},
                 {{f32({0, 2, 2})}}};
  if (logs) return out;
  std::vector<double> singular;  // of rank 4: the last row is the first one
  for (int64_t k = 0; k < 25; ++k)
    singular.push_back(static_cast<double>((k / 5 == 4 ? k - 20 : k) * 7 % 11 - 4));
  out.push_back({{f64({5, 5}).with(std::move(singular))}});
  return out;
}

Rejects rejects(const std::string& op) {
  return {{"C1", {{f16({2, 2})}}, op + "C1: A is f16[2,2], expected f32 or f64"},
          {"C2", {{f32({2})}}, op + "C2: A is f32[2], expected at least two dims"},
          {"C3", {{f32({2, 3})}}, op + "C3: rows and columns of A: 2 and 3, expected equal"}};
}

Cost cost(const OpView& op) {
  const int64_t n = op.env().hint_of(columns_of(op.in_type(0)));
  return {n * numel_hint(op, op.in_type(0)), bytes_moved(op)};
}

OpDef det() {
  return OpDef{
      .name = "_linalg_det",
      .signature = "(Tensor A) -> (Tensor, Tensor, Tensor)",
      .summary = "Determinants of matrices.",
      .source = "aten::_linalg_det, PyTorch 2.13",
      .traits = Trait::compute_intensive | Trait::recomputable,
      .infer = [](const OpView& op) -> Result<Types> {
        CLEAVE_CHECK(check(op));
        return with_factors(op.in_type(0), 1);
      },
      .reference = reference_det,
      .decompose = decompose_det,
      .grad = grad_det,
      .lower = loop::by_decomposition(),
      .cost = cost,
      .samples = [] { return samples(false); },
      .rejects = [] { return rejects("_linalg_det: "); },
      .nondifferentiable = 0b110,
  };
}

OpDef slogdet() {
  return OpDef{
      .name = "_linalg_slogdet",
      .signature = "(Tensor A) -> (Tensor, Tensor, Tensor, Tensor)",
      .summary = "Signs of determinants, and logarithms of their absolute values.",
      .source = "aten::_linalg_slogdet, PyTorch 2.13",
      .traits = Trait::compute_intensive | Trait::recomputable,
      .infer = [](const OpView& op) -> Result<Types> {
        CLEAVE_CHECK(check(op));
        return with_factors(op.in_type(0), 2);
      },
      .reference = reference_slogdet,
      .decompose = decompose_slogdet,
      .grad = grad_slogdet,
      .lower = loop::by_decomposition(),
      .cost = cost,
      .samples = [] { return samples(true); },
      .rejects = [] { return rejects("_linalg_slogdet: "); },
      .nondifferentiable = 0b1101,
  };
}

}  // namespace

CLEAVE_OPS(determinant) { return {det(), slogdet()}; }

}  // namespace cleave
