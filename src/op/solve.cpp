// Linear systems, by a factorization with swapped rows.
//
// _linalg_solve_ex(A, B; left, check_errors) -> (result, LU, pivots, info)      A X = B, or X A = B
//   A [*s,n,n]   B [*t,n,m] or a vector for each matrix: [n], or [*s,n]   result as B, broadcast
//   LU, pivots, info: of A, linalg_lu_factor_ex
//
//   (C1) A is f32 or f64  (C2) at least two dims  (C3) square  (C4) check_errors is false
//   (C5) B has A's dtype  (C6) both on one device  (C7) B has n rows, or not left n columns
//   (C8) *s and *t broadcast  (C9) a vector has no side: left
//
// Where info isn't 0 a 0 divides, and the result has infinities and NaN.
#include "op/broadcast.h"
#include "op/cost.h"
#include "op/dims.h"
#include "op/entry.h"
#include "op/matrices.h"
#include "op/reference_elimination.h"
#include "op/sample_sets.h"

namespace cleave {
namespace {

enum Operand { at_matrix, at_known };

// As ATen has it: one of rank 1, or of the shape of A without its columns.
bool is_vector(const OpView& op) {
  const Type &a = op.in_type(at_matrix), &b = op.in_type(at_known);
  if (b.rank() == 1) return true;
  if (b.rank() + 1 != a.rank()) return false;
  for (size_t d = 0; d < b.shape.size(); ++d)
    if (!op.env().provably_equal(b.shape[d], a.shape[d])) return false;
  return true;
}

Result<Types> infer(const OpView& op) {
  CLEAVE_CHECK(check_matrices(op, "C1", "C2", at_matrix));
  CLEAVE_CHECK(check_square(op, "C3", at_matrix));
  CLEAVE_CHECK(check_reports_alone(op, "C4"));
  CLEAVE_CHECK(check_same_dtype(op, "C5", at_known, at_matrix));
  CLEAVE_CHECK(common_device(op, "C6", {at_matrix, at_known}));
  const Type &a = op.in_type(at_matrix), &b = op.in_type(at_known);
  const bool left = op.bool_attr("left"), vector = is_vector(op);
  if (vector && !left)
    return op.broken("C9", "B is {}, a vector for each matrix, and left is false", b.text());
  if (b.rank() == 0) return op.broken("C7", "B is {}, expected at least one dim", b.text());
  const Dim along = vector || !left ? b.shape.back() : rows_of(b);
  CLEAVE_CHECK(check_equal(op, "C7",
                           left ? "sizes of A and rows of B" : "sizes of A and columns of B",
                           rows_of(a), along));
  Shape shape = batch_of(a);
  if (!vector) {
    CLEAVE_TRY(shape, broadcast_shapes(op, "C8", batch_of(a), batch_of(b)));
    shape.push_back(rows_of(b));
  }
  shape.push_back(b.shape.back());
  return Types{typed_like(b, b.dtype, std::move(shape)), typed_like(a, a.dtype, a.shape),
               typed_like(a, DType::i32, batch_with(a, {rows_of(a)})),
               typed_like(a, DType::i32, batch_of(a))};
}

// The solution of A X = B or A^T X = B, and the three that a factorization gives.
Values solved(Builder& b, const OpView& op, ValueId known, bool adjoint) {
  Values factors = b.call("linalg_lu_factor_ex", {op.in(at_matrix)});
  if (factors.empty()) return {};
  const bool vector = is_vector(op);
  const ValueId x =
      b.call1("linalg_lu_solve", {factors[0], factors[1], vector ? b.unsqueeze(known, -1) : known},
              {{"left", op.bool_attr("left")}, {"adjoint", adjoint}});
  factors.insert(factors.begin(), vector ? b.squeeze(x, {-1}) : x);
  return factors;
}

Values decompose(Builder& b, const OpView& op) { return solved(b, op, op.in(at_known), false); }

// With G the solution of the transposed system for dX: dB = G, and dA = -G X^T, or -X^T G. A is
// factored again; that is merged with the forward's once both are taken apart.
Values grad(Builder& b, const GradView& op) {
  Values d = op.no_grads();
  if (op.dout(0).is_none()) return d;
  const Values all = solved(b, op, op.dout(0), true);
  if (all.empty()) return d;
  if (op.needs(at_known)) d[at_known] = b.sum_to(all[0], op.in_type(at_known).shape);
  if (!op.needs(at_matrix)) return d;
  const bool vector = is_vector(op);
  const ValueId g = vector ? b.unsqueeze(all[0], -1) : all[0];
  const ValueId x = turned(b, vector ? b.unsqueeze(op.out(0), -1) : op.out(0));
  const ValueId whole = op.bool_attr("left") ? product(b, g, x) : product(b, x, g);
  d[at_matrix] = b.neg(b.sum_to(whole, op.in_type(at_matrix).shape));
  return d;
}

Result<Arrays> reference(const OpView& op, std::span<const Array* const> in) {
  const Array &a = *in[at_matrix], &known = *in[at_known];
  Arrays out;
  for (int k = 0; k < 4; ++k) out.emplace_back(op.out_type(k).dtype, static_shape(op.out_type(k)));
  const bool left = op.bool_attr("left"), vector = is_vector(op);
  const int64_t n = a.shape.back();
  Array &x = out[0], &lu = out[1], &pivots = out[2];
  lu.f = a.f;
  for (int64_t k = 0; k < matrices_in(a); ++k)
    out[3].i[k] = eliminate(lu.f.data() + k * n * n, pivots.i.data() + k * n, n, n, true);
  Array column = known;
  if (vector) {
    column.shape.push_back(1);
    x.shape.push_back(1);
  }
  solve_all_eliminated(lu, pivots, column, left, !left, x);
  if (vector) x.shape.pop_back();
  return out;
}

Samples samples() {
  Samples out;
  for (const DType t : {DType::f64, DType::f32}) {
    for (const bool left : {true, false})
      out.push_back({{matrices_to_swap(t, {3, 3}),
                      any_of(t, left ? std::vector<int64_t>{3, 2} : std::vector<int64_t>{2, 3})},
                     {{"left", left}}});
    out.push_back({{matrices_to_swap(t, {3, 3}), any_of(t, {3})}});
    out.push_back({{matrices_to_swap(t, {2, 3, 3}), any_of(t, {2, 3})}});
    out.push_back({{matrices_to_swap(t, {2, 3, 3}), any_of(t, {3})}});
  }
  out.insert(out.end(),
             {{{matrices_to_swap(DType::f64, {2, 1, 2, 2}), f64({3, 2, 2})}},
              {{matrices_to_swap(DType::f64, {2, 2}), f64({3, 1, 2})}, {{"left", false}}},
              {{matrices_to_swap(DType::f32, {20, 20}), f32({20, 2})}},
              {{f64({2, 2, 2}).with({0, 0, 0, 2, NAN, 1, 2, 3}), f64({2, 2, 1})}},
              {{f32({0, 0}), f32({0, 3})}},
              {{f32({2, 2}).range(1, 2), f32({2, 0})}},
              {{f32({0, 2, 2}), f32({2, 3})}}});
  return out;
}

Rejects rejects() {
  const std::string op = "_linalg_solve_ex: ";
  return {
      {"C1", {{f16({2, 2}), f16({2})}}, op + "C1: A is f16[2,2], expected f32 or f64"},
      {"C2", {{f32({2}), f32({2})}}, op + "C2: A is f32[2], expected at least two dims"},
      {"C3", {{f32({2, 3}), f32({2})}}, op + "C3: rows and columns of A: 2 and 3, expected equal"},
      {"C4",
       {{f32({2, 2}), f32({2})}, {{"check_errors", true}}},
       op + "C4: check_errors is true; check info, as by _functional_assert_async"},
      {"C5", {{f32({2, 2}), f64({2})}}, op + "C5: B is f64[2], expected the dtype of A: f32"},
      {"C6",
       {{f32({2, 2}), on_cuda(f32({2, 2}))}},
       op + "C6: A is f32[2,2] and B is f32[2,2]@cuda:0, expected one device"},
      {"C7",
       {{f32({2, 2}), f32({3, 2})}},
       op + "C7: sizes of A and rows of B: 2 and 3, expected equal"},
      {"C7",
       {{f32({2, 2}), f32({2, 3})}, {{"left", false}}},
       op + "C7: sizes of A and columns of B: 2 and 3, expected equal"},
      {"C7", {{f32({2, 2}), f32({})}}, op + "C7: B is f32[], expected at least one dim"},
      {"C8",
       {{f32({2, 2, 2}), f32({3, 2, 2})}},
       op + "C8: shapes [2] and [3] don't broadcast: dim -1 is 2 and 3, expected equal sizes or 1"},
      {"C9",
       {{f32({2, 2}), f32({2})}, {{"left", false}}},
       op + "C9: B is f32[2], a vector for each matrix, and left is false"}};
}

Cost cost(const OpView& op) {
  const int64_t n = op.env().hint_of(columns_of(op.in_type(at_matrix)));
  return {n * (numel_hint(op, op.in_type(at_matrix)) + 2 * numel_hint(op, op.out_type(0))),
          bytes_moved(op)};
}

}  // namespace

CLEAVE_OPS(solve) {
  return {OpDef{
      .name = "_linalg_solve_ex",
      .signature = "(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> "
                   "(Tensor, Tensor, Tensor, Tensor)",
      .summary = "Solves linear systems, and says which matrices are singular.",
      .source = "aten::_linalg_solve_ex, PyTorch 2.13",
      .traits = Trait::compute_intensive | Trait::recomputable,
      .infer = infer,
      .reference = reference,
      .decompose = decompose,
      .grad = grad,
      .lower = loop::by_decomposition(),
      .cost = cost,
      .samples = samples,
      .rejects = rejects,
      .nondifferentiable = 0b1110,
  }};
}

}  // namespace cleave
